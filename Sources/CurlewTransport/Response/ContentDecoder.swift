internal import CCurl
internal import CurlewCore

/// Undoes one content coding. Used only in the loop's turns.
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

/// Decodes brotli and zstd with the libraries that libcurl depends on.
final class LibraryDecoder: ContentDecoder {
    enum Format {
        case brotli, zstd

        fileprivate var coding: curlew_coding {
            switch self {
            case .brotli: CURLEW_CODING_BROTLI
            case .zstd: CURLEW_CODING_ZSTD
            }
        }
    }

    private enum State { case fresh, inside, ended }

    private let format: Format
    private let decoder: UnsafeMutableRawPointer
    private var state = State.fresh

    static func isAvailable(_ format: Format) -> Bool { curlew_decoder_available(format.coding) != 0 }

    init(_ format: Format) throws(BrokenCoding) {
        guard let decoder = curlew_decoder_create(format.coding) else {
            throw BrokenCoding(reason: "no decoder is available for this content coding")
        }
        self.format = format
        self.decoder = decoder
    }

    deinit { curlew_decoder_free(format.coding, decoder) }

    var mayEnd: Bool {
        switch state {
        case .fresh, .ended: true
        case .inside: false
        }
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) throws(BrokenCoding)
        -> Int
    {
        var left = input.count
        var space = room.count
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        while space > 0 {
            if case .inside = state {} else if left == 0 { break }
            try begin(next?.pointee)
            let before = (left, space)
            switch Int(curlew_decoder_run(format.coding, decoder, &next, &left, &output, &space)) {
            case CURLEW_DECODER_ENDED: state = .ended
            case CURLEW_DECODER_GOES_ON: state = .inside
            default: throw BrokenCoding(reason: "the compressed data is corrupt")
            }
            if before == (left, space) { break }
        }
        input = UnsafeRawBufferPointer(rebasing: input[(input.count - left)...])
        return room.count - space
    }

    /// Checks the byte after an end: zstd permits another frame (RFC 8878, 3.1), brotli nothing.
    private func begin(_ first: UInt8?) throws(BrokenCoding) {
        guard case .ended = state, let first else { return }
        switch format {
        case .zstd where first == 0x28 || first & 0xF0 == 0x50: break
        case .brotli, .zstd: throw BrokenCoding(reason: "unexpected bytes after the compressed data")
        }
    }
}
