public import CurlewCore
internal import Foundation

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

extension WebSocketMessage {
    /// Decodes the bytes of the message, or its text.
    ///
    ///     for try await message in socket.messages { print(try message.decode(Price.self)) }
    ///
    /// Throws `.decodingFailed` if the message does not decode. `messages.decode(Price.self)` decodes all messages.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) throws(CurlewError) -> T {
        let data =
            switch self {
            case .text(let text): Data(text.utf8)
            case .data(let data): data
            }
        return try decoder.value(type, of: data, named: "the message")
    }
}

extension WebSocketMessages {
    /// The messages as values, each decoded when it is read.
    ///
    ///     for try await price in socket.messages.decode(Price.self) { print(price) }
    ///
    /// A message that does not decode ends the sequence with `.decodingFailed` and closes the WebSocket, as leaving the
    /// loop does. If some messages have another form, decode them one by one: `message.decode(Price.self)`.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) -> WebSocketValues<Value> {
        WebSocketValues(messages: self, decoder: decoder)
    }
}

/// The messages of a WebSocket, decoded as they arrive. The sequence ends as `WebSocketMessages` does, and with
/// `.decodingFailed` at a message that does not decode.
public struct WebSocketValues<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let messages: WebSocketMessages
    let decoder: any DataDecoder

    public func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator(), decoder: decoder) }

    /// Hands out one value after the other.
    public struct Iterator: AsyncIteratorProtocol {
        /// `nil` after a message that did not decode: releasing its reader closes the WebSocket.
        var messages: WebSocketMessages.Iterator?
        let decoder: any DataDecoder

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CurlewError) -> Value? {
            guard let message = try await messages?.next(isolation: actor) else { return nil }
            do throws(CurlewError) {
                return try message.decode(Value.self, decoder: decoder)
            } catch {
                messages = nil
                throw error
            }
        }
    }
}
