public import CurlewCore
public import Foundation

/// The bytes of a body as they arrive. A slow reader pauses the sender; leaving the loop cancels the transfer.
public struct StreamChunks: AsyncSequence, Sendable {
    let open: @Sendable () -> StreamReader

    public func makeAsyncIterator() -> Iterator { Iterator(reader: open()) }

    /// Hands out one piece after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var reader: StreamReader

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Data? {
            try await reader.next()
        }
    }
}
