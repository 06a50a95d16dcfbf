internal import CurlewCore

/// Undoes one content coding. Loop thread only.
protocol ContentDecoder: AnyObject {
    /// Consumes bytes from the front of `input` and writes to `room`. Returns the number of bytes written. If `room` is
    /// not full, the whole input has been consumed. If it is full, more output may follow without more input.
    func decode(_ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) throws(BrokenCoding)
        -> Int

    /// Whether the input may end at this point: either nothing was consumed, or it is complete with its end mark.
    var mayEnd: Bool { get }
}

/// The body cannot be decoded: a coding is unknown, or the bytes are malformed.
struct BrokenCoding: Error {
    var reason: String
}

/// The supported content codings.
enum ContentCoding: Equatable {
    case deflate
    case gzip
    case brotli
    case zstd

    /// `nil` if the coding is unknown. `identity` is not a coding.
    init?(name: some StringProtocol) {
        switch name.lowercased() {
        case "deflate": self = .deflate
        case "gzip", "x-gzip": self = .gzip
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }

    func makeDecoder() throws(BrokenCoding) -> any ContentDecoder {
        switch self {
        case .deflate: try ZlibDecoder(.deflate)
        case .gzip: try ZlibDecoder(.gzip)
        case .brotli: try LibraryDecoder(.brotli)
        case .zstd: try LibraryDecoder(.zstd)
        }
    }

    /// The default value of `Accept-Encoding`: the supported codings in libcurl's order.
    static func offered(_ capabilities: Capabilities) -> String {
        names(offeredBy: capabilities).joined(separator: ", ")
    }

    static func names(offeredBy capabilities: Capabilities) -> [String] {
        var names = ["deflate", "gzip"]
        if capabilities.features.contains("brotli"), LibraryDecoder.isAvailable(.brotli) { names.append("br") }
        if capabilities.features.contains("zstd"), LibraryDecoder.isAvailable(.zstd) { names.append("zstd") }
        return names
    }

    /// Returns the names in a field's values, in the order in which the codings were applied, without chunking and
    /// `identity`.
    static func names(in values: [String]) -> [Substring] {
        values.flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .filter { !["identity", "none", "chunked"].contains($0.lowercased()) }
    }
}
