public import CurlewCore
internal import Foundation

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
