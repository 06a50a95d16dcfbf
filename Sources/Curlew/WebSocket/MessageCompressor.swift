internal import CZlib
package import CurlewCore

/// The compressing side of permessage-deflate, with zlib (zlib.h).
// SAFETY: every call happens under the lock of the outbox that sends with it.
package final class MessageCompressor: WebSocketCompressor, @unchecked Sendable {
    private let windowBits: Int
    private let keepsContext: Bool
    private var stream: DeflateStream?

    private static let level: Int32 = 5
    private static let memoryLevel: Int32 = 8
    /// The shortest message that is compressed. A shorter one saves less than the flush costs.
    private static let smallestMessage = 32
    private static let tail = 4

    /// Compresses for `role` with the agreed parameters.
    package init(_ agreed: PermessageDeflate, role: WebSocketRole) {
        (windowBits, keepsContext) = agreed.sending(as: role)
    }

    package func compress(_ message: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Bool {
        // zlib's smallest raw window is 512 bytes.
        guard message.count >= Self.smallestMessage, windowBits > 8 else { return false }
        // Created with the first message: a connection that only receives allocates no window.
        guard let stream = stream ?? DeflateStream(compressing: windowBits, level: Self.level, memory: Self.memoryLevel)
        else { return false }
        self.stream = stream
        let start = output.count
        guard stream.run(message, { output.append(contentsOf: $0) }) == .done else {
            output.removeSubrange(start...)
            self.stream = nil
            return false
        }
        output.removeLast(Self.tail)
        if !keepsContext { stream.reset() }
        return true
    }
}

/// The decompressing side of permessage-deflate, with zlib (zlib.h).
// SAFETY: only the task that reads the connection calls it.
package final class MessageDecompressor: WebSocketDecompressor, @unchecked Sendable {
    private let windowBits: Int
    private let keepsContext: Bool
    private var stream: DeflateStream?

    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    /// `sender` is the role of the peer.
    package init(_ agreed: PermessageDeflate, sender: WebSocketRole) {
        (windowBits, keepsContext) = agreed.sending(as: sender)
    }

    package func decompress(
        _ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int
    ) throws(WebSocketViolation) {
        guard let stream = stream ?? DeflateStream(decompressing: windowBits) else {
            throw WebSocketViolation(.internalServerError, "zlib could not create a decoder")
        }
        self.stream = stream
        let result = stream.run(bytes) { piece in
            guard output.count + piece.count <= limit else { return false }
            output.append(contentsOf: piece)
            return true
        }
        switch result {
        case .done: break
        case .stopped:
            throw WebSocketViolation(.messageTooBig, "a message is larger than \(limit) bytes after decompression")
        case .broken: throw WebSocketViolation(.invalidFramePayloadData, "a compressed message cannot be decompressed")
        }
    }

    package func finishMessage(into output: inout [UInt8], limit: Int) throws(WebSocketViolation) {
        try Self.tail.withUnsafeBufferPointer { tail throws(WebSocketViolation) in
            try decompress(UnsafeRawBufferPointer(tail), into: &output, limit: limit)
        }
        if !keepsContext { stream?.reset() }
    }
}

/// A raw zlib stream, and the buffer that it writes into.
private final class DeflateStream {
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
