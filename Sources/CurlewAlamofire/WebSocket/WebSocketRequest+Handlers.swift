public import Curlew
public import Foundation
public import FoundationNetworking

// Handlers, as in Alamofire: each receives every event, and the completion last. The first handler starts the request.
// The next message is read when all handlers have consumed the current one.
extension WebSocketRequest {
    /// Calls the handler with every event. The serializer turns messages into values.
    @discardableResult
    public func streamSerializer<Serializer: WebSocketMessageSerializer>(
        _ serializer: Serializer,
        on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ event: Event<Serializer.Output, Serializer.Failure>) -> Void
    ) -> Self where Serializer.Failure == any Error {
        observe(serializer, delivery(on: queue), handler)
    }

    /// Calls the handler with every event. Messages are decoded.
    @discardableResult
    public func streamDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ event: Event<Value, any Error>) -> Void
    ) -> Self {
        streamSerializer(DecodableWebSocketMessageDecoder<Value>(decoder: decoder), on: queue, handler: handler)
    }

    /// Calls the handler with every message that can be decoded.
    @discardableResult
    public func streamDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ value: Value) -> Void
    ) -> Self {
        observeMessages(delivery(on: queue), { try? Self.decode(type, decoder, $0) }, handler)
    }

    /// Calls the handler with every event.
    @discardableResult
    public func streamMessageEvents(
        on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ event: Event<URLSessionWebSocketTask.Message, Never>) -> Void
    ) -> Self {
        observeEvents(delivery(on: queue), { .receivedMessage($0) }, handler)
    }

    /// Calls the handler with every message.
    @discardableResult
    public func streamMessages(
        on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ message: URLSessionWebSocketTask.Message) -> Void
    ) -> Self {
        observeMessages(delivery(on: queue), { $0 }, handler)
    }

    // MARK: Steps

    static func decode<Value: Decodable & Sendable>(
        _ type: Value.Type, _ decoder: any DataDecoder, _ message: URLSessionWebSocketTask.Message
    ) throws -> Value {
        try DecodableWebSocketMessageDecoder<Value>(decoder: decoder).decode(message)
    }

    @discardableResult
    func observe<Serializer: WebSocketMessageSerializer>(
        _ serializer: Serializer,
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ handler: @escaping @Sendable (Event<Serializer.Output, any Error>) -> Void
    ) -> Self {
        observeEvents(
            delivery, backlog: backlog,
            { message in
                do {
                    return .receivedMessage(try serializer.decode(message))
                } catch {
                    return .serializerFailed(error)
                }
            }, handler)
    }

    @discardableResult
    func observeEvents<Success: Sendable, Failure: Error>(
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ serialize: @escaping @Sendable (URLSessionWebSocketTask.Message) -> Event<Success, Failure>.Kind,
        _ handler: @escaping @Sendable (Event<Success, Failure>) -> Void
    ) -> Self {
        observe(delivery, backlog: backlog) { [weak self] occurrence in
            let kind: Event<Success, Failure>.Kind =
                switch occurrence {
                case .connected(let selected): .connected(protocol: selected)
                case .received(let message): serialize(message.foundationMessage)
                case .disconnected(let code, let reason):
                    .disconnected(closeCode: code.foundationCode, reason: reason.map { Data($0.utf8) })
                case .completed(let completion): .completed(Completion(completion))
                }
            let event = Event<Success, Failure>(socket: self, kind: kind)
            return { handler(event) }
        }
    }

    /// Calls the handler with every message that `serialize` turns into a value, and `ended` at the end.
    @discardableResult
    func observeMessages<Value: Sendable>(
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ serialize: @escaping @Sendable (URLSessionWebSocketTask.Message) -> Value?,
        _ handler: @escaping @Sendable (Value) -> Void,
        ended: (@Sendable () -> Void)? = nil
    ) -> Self {
        observe(delivery, backlog: backlog) { occurrence in
            switch occurrence {
            case .received(let message):
                guard let value = serialize(message.foundationMessage) else { return nil }
                return { handler(value) }
            case .completed: return ended
            case .connected, .disconnected: return nil
            }
        }
    }
}
