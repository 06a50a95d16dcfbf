public import Curlew
public import Foundation
public import FoundationNetworking

/// A WebSocket's events as sequences, as in Alamofire: every sequence receives every event.
///
/// A slow reader stops the server: a sequence holds a quarter of a megabyte that has not been read, and the next
/// message is read when all sequences have room. With a `bufferingPolicy`, a sequence does not wait for its reader, and
/// treats unread values as the policy says: `.unbounded` fills the memory.
public struct WebSocketTask: Sendable {
    /// A sequence of events.
    public typealias EventStreamOf<Success: Sendable, Failure: Error> = StreamOf<
        WebSocketRequest.Event<Success, Failure>
    >

    private let request: WebSocketRequest

    init(request: WebSocketRequest) { self.request = request }

    /// Every event.
    public func streamingMessageEvents(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: EventStreamOf<URLSessionWebSocketTask.Message, Never>.BufferingPolicy? = nil
    ) -> EventStreamOf<URLSessionWebSocketTask.Message, Never> {
        events(shouldAutomaticallyCancel, bufferingPolicy) { .receivedMessage($0) }
    }

    /// Every message.
    public func streamingMessages(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<URLSessionWebSocketTask.Message>.BufferingPolicy? = nil
    ) -> StreamOf<URLSessionWebSocketTask.Message> {
        messages(shouldAutomaticallyCancel, bufferingPolicy) { $0 }
    }

    /// Every event, with decoded messages.
    public func streamingDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: EventStreamOf<Value, any Error>.BufferingPolicy? = nil
    ) -> EventStreamOf<Value, any Error> {
        events(shouldAutomaticallyCancel, bufferingPolicy) { message in
            do {
                return .receivedMessage(try WebSocketRequest.decode(type, decoder, message))
            } catch {
                return .serializerFailed(error)
            }
        }
    }

    /// Every message that can be decoded.
    public func streamingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: StreamOf<Value>.BufferingPolicy? = nil
    ) -> StreamOf<Value> {
        messages(shouldAutomaticallyCancel, bufferingPolicy) { try? WebSocketRequest.decode(type, decoder, $0) }
    }

    /// Sends a message. Returns when there is room for another one.
    public func send(_ message: URLSessionWebSocketTask.Message) async throws {
        try await request.send(WebSocketMessage(message))
    }

    /// Closes the WebSocket, without waiting for its end.
    public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) {
        request.close(sending: closeCode, reason: reason)
    }

    /// Ends the WebSocket without closing it.
    public func cancel() { request.cancel() }

    /// Starts the request.
    public func resume() { request.resume() }

    /// Suspends the request. It has no effect on an open WebSocket.
    public func suspend() { request.suspend() }

    // MARK: Steps

    private func events<Success: Sendable, Failure: Error>(
        _ cancels: Bool,
        _ policy: EventStreamOf<Success, Failure>.BufferingPolicy?,
        _ serialize:
            @escaping @Sendable (URLSessionWebSocketTask.Message) -> WebSocketRequest.Event<Success, Failure>.Kind
    ) -> EventStreamOf<Success, Failure> {
        stream(cancels, policy) { backlog, continuation in
            request.observeEvents(.direct, backlog: backlog, serialize) { event in
                continuation.yield(event)
                if case .completed = event.kind { continuation.finish() }
            }
        }
    }

    private func messages<Value: Sendable>(
        _ cancels: Bool,
        _ policy: StreamOf<Value>.BufferingPolicy?,
        _ serialize: @escaping @Sendable (URLSessionWebSocketTask.Message) -> Value?
    ) -> StreamOf<Value> {
        stream(cancels, policy) { backlog, continuation in
            request.observeMessages(.direct, backlog: backlog, serialize) {
                continuation.yield($0)
            } ended: {
                continuation.finish()
            }
        }
    }

    private func stream<Element: Sendable>(
        _ cancels: Bool,
        _ policy: StreamOf<Element>.BufferingPolicy?,
        _ attach: (StreamBacklog?, StreamOf<Element>.Continuation) -> Void
    ) -> StreamOf<Element> {
        let backlog = policy == nil ? StreamBacklog() : nil
        return StreamOf(
            bufferingPolicy: policy ?? .unbounded,
            backlog: backlog,
            onTermination: { [request] in
                if cancels, !request.hasResult { request.cancel() }
            },
            builder: { attach(backlog, $0) }
        )
    }
}

extension WebSocketRequest {
    /// The WebSocket's events as sequences, as in Alamofire.
    public func webSocketTask() -> WebSocketTask { WebSocketTask(request: self) }
}
