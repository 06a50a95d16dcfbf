internal import CZlib
package import CurlewCore

/// The decompressing side of permessage-deflate, with zlib (zlib.h).
// SAFETY: one owner at a time: the task that reads the connection.
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
