public import CurlewCore

/// The messages of a WebSocket as they arrive. One task reads them; a slow reader pauses the server, and leaving the
/// loop closes the WebSocket.
///
/// The sequence ends on the close codes 1000, 1001 and 1005, and when this side has closed. Every other end is an
/// error: `.webSocketClosed` with the code and the reason of the server, `.protocolViolation`, `.limitExceeded`,
/// `.idleTimedOut`, or the error that broke the connection.
public struct WebSocketMessages: AsyncSequence, Sendable {
    let open: @Sendable () -> WebSocketReader

    public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

    /// Hands out one message after the other. Releasing an iterator before its first `next()` does not close the
    /// WebSocket.
    public struct Iterator: AsyncIteratorProtocol {
        private let open: @Sendable () -> WebSocketReader
        private var reader: WebSocketReader?

        init(open: @escaping @Sendable () -> WebSocketReader) { self.open = open }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(CurlewError) -> WebSocketMessage? {
            let reader = self.reader ?? open()
            self.reader = reader
            // Under load the next message has usually arrived already.
            if let message = reader.nextNow() { return message }
            return try await reader.next()
        }
    }
}

/// One reader of messages. Releasing it closes the WebSocket, so leaving a loop is enough.
final class WebSocketReader: Sendable {
    private let inbox: WebSocketInbox
    private let start: @Sendable () -> Void
    private let leave: @Sendable () -> Void

    init(_ inbox: WebSocketInbox, start: @escaping @Sendable () -> Void, leave: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.start = start
        self.leave = leave
    }

    deinit {
        inbox.leave()
        leave()
    }

    func nextNow() -> WebSocketMessage? { inbox.nextNow() }

    func next() async throws(CurlewError) -> WebSocketMessage? {
        start()
        do throws(CurlewError) {
            return try await inbox.next()
        } catch {
            // The reading task was cancelled, or everything has ended.
            if error.code == .cancelled { leave() }
            throw error
        }
    }
}
