public import CurlewCore
internal import CurlewLocks
package import Dispatch
public import Foundation
package import FoundationNetworking

extension WebSocketRequest {
    // MARK: Receiving

    /// The messages as they arrive. Only one task may read them.
    ///
    /// Leaving the loop closes the WebSocket with code 1000, without waiting for the server.
    public var messages: WebSocketMessages {
        WebSocketMessages(open: { [self] in
            WebSocketReader(link.inbox, start: { self.startRun() }, leave: { [weak self] in self?.leave() })
        })
    }

    /// Opens the WebSocket, waits for that, and returns the head of the server's response.
    @discardableResult
    public func opened() async throws(CurlewError) -> ResponseHead {
        // Read before the start: if this call opens the first connection, it returns that one's head, even if the
        // connection is lost at once.
        let opening = link.opening
        startRun()
        if let prepared { return prepared.head }
        return try await link.connection(of: opening).head
    }

    // MARK: Sending

    // A cancelled task sends nothing, even if it would not have to wait.

    /// Sends text. Waits until the WebSocket is open, and returns when there is room for more.
    public func send(_ text: String) async throws(CurlewError) { try await send(.text(text)) }

    /// Sends bytes. Waits until the WebSocket is open, and returns when there is room for more.
    public func send(_ data: Data) async throws(CurlewError) { try await send(.data(data)) }

    /// Sends a message.
    public func send(_ message: WebSocketMessage) async throws(CurlewError) {
        if trySend(message) { return }
        while true {
            let connection = try await connection()
            if try await connection.outbox.send(message) { return }
            // Another connection may follow, unless the caller is the hook of the one that has ended.
            guard HookContext.current?.link !== link, link.follows(connection) else { throw link.refusal }
        }
    }

    /// Sends a value as JSON text.
    public func send<Value: Encodable & Sendable>(
        json value: Value, encoder: JSONEncoder = JSONEncoder()
    ) async throws(CurlewError) {
        let data: Data
        do {
            data = try encoder.fastEncode(value)
        } catch {
            throw CurlewError(
                .parameterEncodingFailed, phase: .send, reason: "the value could not be encoded", underlying: error)
        }
        try await send(.text(String(decoding: data, as: UTF8.self)))
    }

    /// Sends a ping and returns how long its pong took.
    @discardableResult
    public func ping() async throws(CurlewError) -> Duration {
        _ = try await connection()
        return try await link.ping()
    }

    // MARK: Closing

    /// Performs the closing handshake: sends all queued messages, then the code, and returns when the server has
    /// answered or `closeTimeout` has passed. Messages that arrive meanwhile are dropped.
    ///
    /// A WebSocket that is not open yet is cancelled. One that has ended does not change. A code that must not be sent,
    /// such as 1005 or 5000, and a reason of more than 123 bytes are `.parameterEncodingFailed`: nothing is sent, and
    /// the WebSocket stays open.
    public func close(
        code: WebSocketCloseCode = .normalClosure, reason: String? = nil
    ) async throws(CurlewError) {
        if let flaw = WebSocketClosePayload(code, reason: reason ?? "").flaw {
            throw CurlewError(.parameterEncodingFailed, phase: .send, reason: flaw)
        }
        guard link.beginClosing(code, reason: reason) else {
            cancel()
            return
        }
        guard await link.ended.wait() != nil else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the closing task was cancelled")
        }
    }

    /// The code with which the WebSocket ended: that of the server's close frame, 1005 if the frame had none, 1006 if
    /// there was no such frame. If the server broke the protocol or a limit, the code that this side sent. `nil` before
    /// the end, and if no connection was opened.
    public var closeCode: WebSocketCloseCode? { link.ending?.closeCode }

    /// The reason in the server's close frame. If the server broke the protocol or a limit, the reason that this side
    /// sent.
    public var closeReason: String? { link.ending?.closeReason }

    /// The subprotocol that the server selected on the last connection.
    public var selectedProtocol: String? { link.state.withLock { $0.lastConnection }?.agreement.selectedProtocol }

    // MARK: Steps

    /// The connection for a send or a ping.
    private func connection() async throws(CurlewError) -> WebSocketLink.Connection {
        if Task.isCancelled { throw CurlewError(.cancelled, phase: .send, reason: "the sending task was cancelled") }
        startRun()
        if let prepared { return prepared }
        return try await link.usableConnection()
    }

    /// The connection whose hook is the caller.
    private var prepared: WebSocketLink.Connection? {
        guard let context = HookContext.current, context.link === link else { return nil }
        return context.connection
    }

    /// Sends the message if that is possible without a wait. Returns whether it was sent.
    private func trySend(_ message: WebSocketMessage) -> Bool {
        guard HookContext.current == nil, !Task.isCancelled, case .success(let connection)? = link.opening.value
        else {
            return false
        }
        return connection.outbox.trySend(message, peerWaits: link.inbox.claimAnswer())
    }

    /// Closes the WebSocket, because its reader has left.
    func leave() { beginClosing(.normalClosure, reason: nil) }
}

extension WebSocketRequest {
    /// Called with the WebSocket each time it has opened.
    typealias OpeningHook = @Sendable (WebSocketRequest) async throws -> Void

    /// Opens the WebSocket again when it is lost. Call it before the first `send`, `ping`, `opened()` or iteration.
    ///
    ///     let socket = session.webSocket("wss://example.org/feed").reconnecting { socket in
    ///         try await socket.send("subscribe")
    ///     }
    ///     for try await message in socket.messages { print(message) }
    ///
    /// `messages` continues over all connections. `onOpen` is called on each of them, including the first, before
    /// anything else is sent; an error that it throws ends the WebSocket. If the WebSocket could not be opened,
    /// retriers are asked before the policy.
    ///
    /// - Messages that had not arrived when a connection was lost are not sent again, and nothing tells which they are:
    ///   that takes acknowledgements by the server.
    /// - Every attempt adapts the request again, and has the timeouts of a first one.
    @discardableResult
    public func reconnecting(
        _ policy: ReconnectionPolicy = ReconnectionPolicy(),
        onOpen: (@Sendable (WebSocketRequest) async throws -> Void)? = nil
    ) -> Self {
        link.state.withLock { $0.reconnection = Reconnection(policy) }
        hook.withLock { $0 = onOpen }
        return self
    }
}

// MARK: - Handlers, and callers that do not wait

// Unstructured tasks serve them: the pump passes messages to handlers, others send pings and messages.
extension WebSocketRequest {
    /// Returns the delivery for handlers on `queue`.
    package func delivery(on queue: DispatchQueue) -> CallbackDelivery { CallbackDelivery(queue: queue, of: self) }

    /// Calls a handler with every event. Handlers read the messages together, so a program that adds one must not
    /// iterate over `messages`.
    @discardableResult
    package func observe(
        _ delivery: CallbackDelivery,
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
