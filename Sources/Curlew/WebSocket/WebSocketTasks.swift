package import CurlewCore
internal import CurlewLocks
package import Dispatch
internal import Foundation
package import FoundationNetworking

// This file is one of the places that start unstructured tasks: for the run, for the pump that serves handlers, and for
// pings and messages whose callers do not wait.

extension WebSocketRequest {
    /// Starts the run, unless an earlier call has.
    func startRun() {
        guard startsNow() else { return }
        // The run must not keep the user's handle alive: releasing the handle closes the WebSocket.
        let run = handleOfRun()
        Task { _ = await run.outcome(of: run.beginAwaiting(), checksStatus: false) }
    }

    /// Whether the request has ended.
    package var hasResult: Bool { record.withLock { $0.lifecycle.result != nil } }

    /// Returns the delivery for handlers on `queue`.
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
            observation.pump = Task { await pump.run() }
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
        keepHandle()
        return self
    }

    /// Sends a ping and reports how long its pong took. Its task ends with the pong, the deadline, or the WebSocket.
    package func ping(_ completion: @escaping @Sendable (Result<Duration, CurlewError>) -> Void) {
        Task {
            do throws(CurlewError) { completion(.success(try await ping())) } catch {
                completion(.failure(error))
            }
        }
    }

    /// Queues a message after earlier ones. Reports when there was room for it, or the error if it cannot be sent.
    package func enqueue(
        _ message: WebSocketMessage, _ completion: @escaping @Sendable (Result<Void, CurlewError>) -> Void
    ) {
        let isFirst = observation.withLock { observation in
            observation.queue.append((message, completion))
            return !exchange(&observation.isSending, with: true)
        }
        if isFirst { Task { await sendQueued() } }
    }

    /// Sends the queued messages one after the other, until the queue is empty.
    private func sendQueued() async {
        while let (message, completion) = nextQueued() {
            do throws(CurlewError) {
                try await send(message)
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func nextQueued() -> QueuedMessage? {
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
    /// Returns whether a close frame or the user has ended the WebSocket, so that its handlers get no error.
    fileprivate func isPlainEnd(_ error: CurlewError?) -> Bool {
        switch error?.code {
        case .cancelled?: isClosing
        case .webSocketClosed?:
            if case .closed? = ending { true } else { false }
        default: false
        }
    }
}

/// The events for handlers of a WebSocket, in this order.
package enum WebSocketOccurrence: Sendable {
    case connected(protocol: String?)
    case received(WebSocketMessage)
    /// Both sides have sent close frames, or the server has not answered this side's.
    case disconnected(WebSocketCloseCode, reason: String?)
    case completed(WebSocketCompletion)
}

/// The outcome of a WebSocket, for its handlers.
package struct WebSocketCompletion: Sendable {
    package let request: URLRequest?
    package let response: HTTPURLResponse?
    package let metrics: TransferMetrics?
    /// `nil` if a close frame, with whatever code, or the user has ended the WebSocket.
    package let error: CurlewError?
}

/// A handler of WebSocket events.
typealias WebSocketObserver = StreamHandler<WebSocketOccurrence>

/// Delivers messages to handlers.
private struct WebSocketPump: Sendable {
    let link: WebSocketLink
    /// The handlers that have been added so far.
    let observers: @Sendable () -> [WebSocketObserver]

    func run() async {
        guard case .success(let connection)? = await link.opening.wait() else { return }
        await tell(.connected(protocol: connection.agreement.selectedProtocol), size: 0)
        while let message = try? await link.inbox.next() {
            let size =
                switch message {
                case .text(let text): text.utf8.count
                case .data(let data): data.count
                }
            await tell(.received(message), size: size)
        }
        await link.ended.wait()
        switch link.ending {
        case .closed(let code, let reason, _)?:
            await tell(.disconnected(code, reason: reason.isEmpty ? nil : reason), size: 0)
        case .unanswered?: await tell(.disconnected(.abnormalClosure, reason: nil), size: 0)
        case .cut?, .broken?, .violated?, .silent?, nil: break
        }
    }

    private func tell(_ occurrence: WebSocketOccurrence, size: Int) async {
        await WebSocketObserver.deliver(occurrence, size: size, to: observers())
    }
}
