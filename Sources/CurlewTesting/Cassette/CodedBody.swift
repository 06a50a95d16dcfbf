internal import CurlewCore
internal import Foundation

/// The content codings of a body (RFC 9110, 8.4), and how to undo them.
struct CodedBody {
    /// In the order in which they were applied.
    private let codings: [String]

    /// A cassette is made to be read: what is larger than this is not.
    private static let largest = 64 << 20

    init(_ fields: [Cassette.Field]) {
        codings = fields.filter { ASCII.equalsIgnoringCase($0.name, "Content-Encoding") }
            .flatMap { $0.value.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map { ASCII.lowercased(String($0)) }
            .filter { $0 != "identity" }
    }

    var hasCodings: Bool { !codings.isEmpty }

    var names: String { codings.joined(separator: ", ") }

    /// nil for a coding other than gzip and deflate, and for bytes that it cannot have made or that are too many.
    func decoded(_ body: Data) -> Data? {
        var data = body
        for coding in codings.reversed() {
            let plain: Data?
            switch coding {
            case "gzip", "x-gzip": plain = Compression.inflated(data, windowBits: 31, limit: Self.largest)
            // Some send it without zlib's header.
            case "deflate":
                plain =
                    Compression.inflated(data, windowBits: 15, limit: Self.largest)
                    ?? Compression.inflated(data, windowBits: -15, limit: Self.largest)
            default: plain = nil
            }
            guard let plain else { return nil }
            data = plain
        }
        return data
    }
}
