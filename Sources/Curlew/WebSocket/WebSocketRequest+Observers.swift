package import CurlewCore
internal import CurlewLocks
package import Dispatch
internal import FoundationNetworking

extension WebSocketRequest {
    /// Whether the request has ended.
    package var hasResult: Bool { record.withLock { $0.lifecycle.result != nil } }

    /// The delivery for handlers on that queue.
    package func delivery(on queue: DispatchQueue) -> Delivery { Delivery(queue: queue, of: self) }

    /// Calls a handler with every event. Handlers read the messages together, so a program that adds one must not
    /// iterate over `messages`.
    @discardableResult
    package func observe(
        _ delivery: Delivery,
        backlog: StreamBacklog? = nil,
        _ prepare: @escaping @Sendable (WebSocketOccurrence) -> (@Sendable () -> Void)?
    ) -> Self {
        let observer = WebSocketObserver(prepare: prepare, delivery: delivery.ofMany, backlog: backlog)
        observation.withLock { observation in
            observation.observers.append(observer)
            guard observation.pump == nil, !hasResult else { return }
            let pump = WebSocketPump(link: link) { [observation = self.observation] in
                observation.withLock { $0.observers }
            }
            observation.pump = WebSocketRun.start(pump)
        }
        add { [link] result in
            HandlerQueue.Serialized(error: nil) { replacement in
                let error = replacement ?? result.error
                let completion = WebSocketCompletion(
                    request: result.request?.urlRequest, response: result.response?.value, metrics: result.metrics,
                    error: link.isPlainEnd(error) ? nil : error)
                let work = prepare(.completed(completion))
                delivery { work?() }
            }
        }
        return self
    }

    /// Sends a ping and reports how long its pong took.
    package func ping(_ completion: @escaping @Sendable (Result<Duration, CurlewError>) -> Void) {
        WebSocketRun.ping(self, completion)
    }

    /// Queues a message after earlier ones. Reports when there was room for it, or the error if it cannot be sent.
    package func enqueue(
        _ message: WebSocketMessage, _ completion: @escaping @Sendable (Result<Void, CurlewError>) -> Void
    ) {
        let isFirst = observation.withLock { observation in
            observation.queue.append((message, completion))
            return !exchange(&observation.isSending, with: true)
        }
        if isFirst { WebSocketRun.send(self) }
    }

    func nextQueued() -> QueuedMessage? {
        observation.withLock { observation in
            if let next = observation.queue.popFirst() { return next }
            observation.isSending = false
            return nil
        }
    }

    typealias QueuedMessage = (WebSocketMessage, @Sendable (Result<Void, CurlewError>) -> Void)

    /// Begins the closing handshake without waiting for its end. A WebSocket that is not open yet is cancelled.
    package func beginClosing(_ code: WebSocketCloseCode, reason: String?) {
        if !link.beginClosing(code, reason: reason) { cancel() }
    }
}

extension WebSocketLink {
    /// Whether a close frame, or this side, has ended the WebSocket.
    fileprivate func isPlainEnd(_ error: CurlewError?) -> Bool {
        switch error?.code {
        case .cancelled?: isClosing
        case .webSocketClosed?:
            if case .closed? = ending { true } else { false }
        default: false
        }
    }
}
