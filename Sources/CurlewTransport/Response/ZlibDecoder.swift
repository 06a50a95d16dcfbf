internal import CZlib
internal import CurlewCore

/// Decodes gzip and deflate with zlib (zlib.h).
final class ZlibDecoder: ContentDecoder {
    enum Format { case gzip, deflate }

    private enum State {
        case fresh
        case inside
        /// A gzip member is complete; another may follow (RFC 1952, 2.2).
        case betweenMembers
        case ended
        /// Deflate data without zlib's wrapper is complete. Some servers send a checksum all the same: at most this
        /// number of bytes may follow.
        case trailer(Int)
    }

    private let format: Format
    private var isWrapped = true
    private var state = State.fresh
    // On the heap, because zlib stores the address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    private static let window: Int32 = 15
    private static let firstByteOfGzip: UInt8 = 0x1F

    init(_ format: Format) throws(BrokenCoding) {
        self.format = format
        stream.initialize(to: z_stream())
        // 32 makes zlib accept both gzip and zlib data, which servers confuse.
        let bits = format == .gzip ? Self.window + 32 : Self.window
        guard inflateInit2_(stream, bits, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw BrokenCoding(reason: "zlib could not create a decoder")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    var mayEnd: Bool {
        switch state {
        case .fresh, .betweenMembers, .ended, .trailer: true
        case .inside: false
        }
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) throws(BrokenCoding)
        -> Int
    {
        var written = 0
        while written < room.count {
            guard try begin(&input) else { break }
            let before = (input.count, written)
            let code = run(&input, UnsafeMutableRawBufferPointer(rebasing: room[written...]), &written)
            switch code {
            case Z_OK:
                if before == (input.count, written) { return written }
            case Z_BUF_ERROR:
                return written
            case Z_STREAM_END:
                state = format == .gzip ? .betweenMembers : isWrapped ? .ended : .trailer(4)
            default:
                throw BrokenCoding(reason: stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(code)")
            }
        }
        return written
    }

    /// Prepares zlib for the next bytes. Returns whether zlib has work to do.
    private func begin(_ input: inout UnsafeRawBufferPointer) throws(BrokenCoding) -> Bool {
        if case .inside = state { return true }
        guard let first = input.first else { return false }
        switch state {
        case .inside: break
        case .fresh:
            // In the first byte of zlib's header, the lower half is the method, deflate, and the upper half the window.
            // Raw deflate data does not begin with such a byte: it would be a stored block with padding bits that are
            // not zero.
            if format == .deflate, first & 0x0F != 8 || first >> 4 > 7 {
                isWrapped = false
                inflateReset2(stream, -Self.window)
            }
            state = .inside
        case .betweenMembers:
            guard first == Self.firstByteOfGzip else { throw BrokenCoding(reason: "garbage after the gzip data") }
            inflateReset2(stream, Self.window + 16)
            state = .inside
        case .ended:
            throw BrokenCoding(reason: "garbage after the deflate data")
        case .trailer(let count):
            guard input.count <= count else { throw BrokenCoding(reason: "garbage after the deflate data") }
            state = .trailer(count - input.count)
            input = UnsafeRawBufferPointer(rebasing: input[input.count...])
            return false
        }
        return true
    }

    private func run(
        _ input: inout UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer, _ written: inout Int
    ) -> Int32 {
        let (available, space) = (min(input.count, Int(UInt32.max)), min(room.count, Int(UInt32.max)))
        // zlib does not write through next_in, although its type is not const.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: Bytef.self))
        stream.pointee.avail_in = uInt(available)
        stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_out = uInt(space)
        let code = inflate(stream, Z_SYNC_FLUSH)
        input = UnsafeRawBufferPointer(rebasing: input[(available - Int(stream.pointee.avail_in))...])
        written += space - Int(stream.pointee.avail_out)
        return code
    }
}
