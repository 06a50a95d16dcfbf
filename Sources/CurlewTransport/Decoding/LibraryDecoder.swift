internal import CCurl
internal import CurlewCore

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
