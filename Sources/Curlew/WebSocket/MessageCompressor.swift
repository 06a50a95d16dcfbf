internal import CZlib
package import CurlewCore

/// The compressing side of permessage-deflate, with zlib (zlib.h).
// SAFETY: one owner at a time: every call happens under the lock of the outbox that sends with it.
package final class MessageCompressor: WebSocketCompressor, @unchecked Sendable {
    private let windowBits: Int
    private let keepsContext: Bool
    private var stream: DeflateStream?

    private static let level: Int32 = 5
    private static let memoryLevel: Int32 = 8
    /// A shorter message saves less than the flush costs.
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
