internal import CurlewCore
internal import Foundation

/// The content codings of a body (RFC 9110, 8.4), and their decoding.
struct CodedBody {
    /// The codings in the order in which they were applied.
    private let codings: [String]

    /// The limit on decoded bodies; larger ones are not decoded.
    private static let largest = 64 << 20

    init(_ fields: [Cassette.Field]) {
        codings = fields.filter { ASCII.equalsIgnoringCase($0.name, "Content-Encoding") }
            .flatMap { $0.value.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map { ASCII.lowercased(String($0)) }
            .filter { $0 != "identity" }
    }

    var hasCodings: Bool { !codings.isEmpty }

    var names: String { codings.joined(separator: ", ") }

    /// Returns the decoded bytes; `nil` for codings other than gzip and deflate, invalid bytes, or a result above the
    /// limit.
    func decoded(_ body: Data) -> Data? {
        var data = body
        for coding in codings.reversed() {
            let plain: Data?
            switch coding {
            case "gzip", "x-gzip": plain = Compression.inflated(data, windowBits: 31, limit: Self.largest)
            // Some servers send raw DEFLATE, without zlib's header.
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
