internal import CZlib

/// A raw zlib stream, and the buffer that it writes into.
final class DeflateStream {
    enum Result {
        case done
        /// The caller wanted no more output.
        case stopped
        /// The input is not a deflate stream.
        case broken
    }

    private let compresses: Bool
    // zlib stores the address of the stream.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let room: UnsafeMutableRawBufferPointer

    private static let roomSize = 16 * 1024

    init?(compressing windowBits: Int, level: Int32, memory: Int32) {
        compresses = true
        room = .allocate(byteCount: Self.roomSize, alignment: 16)
        stream.initialize(to: z_stream())
        let code = deflateInit2_(
            stream, level, Z_DEFLATED, -Int32(windowBits), memory, Z_DEFAULT_STRATEGY, zlibVersion(),
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { return nil }
    }

    init?(decompressing windowBits: Int) {
        compresses = false
        room = .allocate(byteCount: Self.roomSize, alignment: 16)
        stream.initialize(to: z_stream())
        let code = inflateInit2_(
            stream, -Int32(windowBits), zlibVersion(), Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { return nil }
    }

    deinit {
        // Both functions accept a stream whose initialisation failed.
        if compresses { deflateEnd(stream) } else { inflateEnd(stream) }
        stream.deallocate()
        room.deallocate()
    }

    /// Starts again with an empty window.
    func reset() {
        if compresses { deflateReset(stream) } else { inflateReset(stream) }
    }

    /// Processes all of `input` and flushes. `take` receives the output piece by piece; false stops the stream.
    func run(_ input: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Result {
        var rest = input
        while true {
            // zlib counts in 32 bits.
            let available = min(rest.count, Int(Int32.max))
            // zlib does not write through `next_in`, although its type is not const.
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: rest.baseAddress?.assumingMemoryBound(to: Bytef.self))
            stream.pointee.avail_in = uInt(available)
            stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: Bytef.self)
            stream.pointee.avail_out = uInt(room.count)
            let code = compresses ? deflate(stream, Z_SYNC_FLUSH) : inflate(stream, Z_SYNC_FLUSH)
            rest = UnsafeRawBufferPointer(rebasing: rest[(available - Int(stream.pointee.avail_in))...])
            let written = room.count - Int(stream.pointee.avail_out)
            if written > 0, !take(UnsafeRawBufferPointer(rebasing: room[..<written])) { return .stopped }
            switch code {
            case Z_OK: if rest.isEmpty, written < room.count { return .done }
            // Nothing to do: the previous call has produced all output.
            case Z_BUF_ERROR: return .done
            // A sender may end its stream with a message; the next message begins another one (RFC 7692, 7.2.3.5).
            case Z_STREAM_END:
                inflateReset(stream)
                if rest.isEmpty { return .done }
            default: return .broken
            }
        }
    }

    func run(_ input: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void) -> Result {
        run(input) { piece -> Bool in
            take(piece)
            return true
        }
    }
}
