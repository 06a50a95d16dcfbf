internal import CurlewCore

/// One content coding being undone. Loop thread only.
protocol ContentDecoder: AnyObject {
    /// Takes from the front of `input` and writes to `room`; tells how many bytes it wrote. Where the room is not full
    /// the whole input has been taken; where it is full there may be more without any.
    func decode(_ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) throws(BrokenCoding)
        -> Int

    /// Whether what has been taken so far is whole: nothing at all, or complete to its own end mark.
    var mayEnd: Bool { get }
}

/// Coded bytes that mean nothing.
struct BrokenCoding: Error {
    var reason: String
}

/// The codings that can be undone.
enum ContentCoding: Equatable {
    case deflate
    case gzip
    case brotli
    case zstd

    /// What is not named here cannot be undone; `identity` is no coding.
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

    /// What `Accept-Encoding` offers where a configuration names nothing: what can be undone, in libcurl's order.
    static func offered(_ capabilities: Capabilities) -> String {
        names(offeredBy: capabilities).joined(separator: ", ")
    }

    static func names(offeredBy capabilities: Capabilities) -> [String] {
        var names = ["deflate", "gzip"]
        if capabilities.features.contains("brotli"), LibraryDecoder.isAvailable(.brotli) { names.append("br") }
        if capabilities.features.contains("zstd"), LibraryDecoder.isAvailable(.zstd) { names.append("zstd") }
        return names
    }

    /// The names in a field's values, in the order in which the codings were applied.
    static func names(in values: [String]) -> [Substring] {
        values.flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .filter { !["identity", "none", "chunked"].contains($0.lowercased()) }
    }
}
