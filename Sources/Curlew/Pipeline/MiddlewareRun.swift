internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Performs one exchange through middleware: calls them, and delivers the reply of the outermost one to the sink.
///
///     Exchange ◀── sink ── MiddlewareRun ─▶ intercept ─▶ intercept ─▶ InterceptedTransfer ── perform ──▶ base
///                             ▲                                             │
///                             └──────────── Reply: head, data or stream ◀───┘
///
/// Middleware may send several requests. Each is an `InterceptedTransfer`, which the run ends, and waits for, before it
/// returns: nothing calls the sink afterwards.
final class MiddlewareRun: Sendable {
    private struct State: Sendable {
        /// Whether the outermost middleware has returned.
        var isOver = false
        /// The transfers that run, by their keys.
        var transfers: [Int: InterceptedTransfer] = [:]
        var lastKey = MiddlewareRun.callKey
        /// The key of the last transfer that reads the body from its stream.
        var bodyReader: Int?
        /// The status of the server's last response to a request without an `Authorization` field of a middleware.
        var credentialStatus: Int?
    }

    let token = Reply.RunToken()
    /// Cancelling or suspending the exchange does so to all of these: running user code (`callKey`) and every transfer.
    let controls = CombinedControl()
    let sink: any TransferSink
    private let wire: WireRequest
    /// The request for which the middleware runs.
    private let request: Request
    /// The outermost first.
    private let middleware: [any RequestMiddleware]
    /// The cache, or the network.
    private let base: any Transport
    private let budget: TimeoutBudget
    /// The control of the sink's owner.
    private let delivery = ResponseDelivery()
    private let state = Lock(State())
    private static let callKey = 0

    init(
        _ sent: TransferRequest,
        of request: Request,
        through middleware: [any RequestMiddleware],
        over base: any Transport,
        to sink: any TransferSink,
        _ budget: TimeoutBudget
    ) {
        wire = WireRequest(sent, keepsDotSegments: request.context.configuration.keepsDotSegments)
        self.request = request
        self.middleware = middleware
        self.base = base
        self.sink = sink
        self.budget = budget
        delivery.attach(controls)
    }

    /// Performs the exchange, as `Transport.perform` does. Call it once.
    func outcome() async throws(CurlewError) -> TransferOutcome {
        sink.willStart(delivery)
        let outcome = await withTaskCancellationHandler {
            await result()
        } onCancel: {
            delivery.cancel(with: CurlewError(.cancelled, phase: .receive))
        }
        return try outcome.get()
    }

    private func result() async -> Result<TransferOutcome, CurlewError> {
        let began = Date()
        let result: Result<Reply, CurlewError>
        do throws(CurlewError) {
            let reply = try await intercepted()
            try await deliver(reply)
            result = .success(reply)
        } catch {
            // User code that was cancelled may throw anything.
            result = .failure(delivery.ending ?? error)
        }
        await endTransfers()
        return result.map { outcome(of: $0, began) }
    }

    /// The metrics and the challenges of another exchange say nothing about this one.
    private func outcome(of reply: Reply, _ began: Date) -> TransferOutcome {
        let isOwn = !isFromAnotherRun(reply)
        let metrics = (isOwn ? reply.metrics : reply.ownMetrics) ?? TransferMetrics(queued: began, ended: Date())
        var outcome = TransferOutcome(head: reply.head, trailers: reply.trailers, metrics: metrics)
        if isOwn { outcome.answeredChallenges = reply.outcome?.answeredChallenges ?? [] }
        let credentialStatus = state.withLock { $0.credentialStatus }
        outcome.statusEvaluatesCredentials =
            isOwn && credentialStatus.map { ($0 == 401) == (reply.head.status == 401) } ?? false
        return outcome
    }

    // MARK: The middleware

    private func intercepted() async throws(CurlewError) -> Reply {
        defer { state.withLock { $0.isOver = true } }
        do {
            let reply = try await calling(in: .waiting) { [self] in try await proceed(0, wire.view) }
            guard (200...999).contains(reply.head.status) else {
                let reason = "a middleware returned a reply with the status \(reply.head.status)"
                throw CurlewError(.protocolViolation, phase: .receive, reason: reason)
            }
            return isFromAnotherRun(reply) ? reply.withoutSessionFields : reply
        } catch {
            throw wrapped(error)
        }
    }

    /// Whether the reply is that of another exchange, which a middleware has kept.
    private func isFromAnotherRun(_ reply: Reply) -> Bool { reply.source.map { $0.run !== token } ?? false }

    /// Calls the middleware with this index, or sends the request if there is none.
    private func proceed(_ index: Int, _ request: URLRequest) async throws -> Reply {
        guard index < middleware.count else { return try await send(request) }
        // Weak: a middleware may keep `next`, which must not keep the request.
        let next = Next { [weak self] request in
            guard let self else { throw Self.isOver }
            return try await self.proceed(index + 1, request)
        }
        return try await middleware[index].intercept(request, next: next)
    }

    /// Runs user code in a child task that the owner's control and the total timeout cancel.
    private func calling<T: Sendable>(
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        // The code has ended, so its control has nothing left to end.
        defer { controls.remove(Self.callKey) }
        return try await request.callingUserCode(
            budget: budget, in: phase, attaching: { controls.add($0, for: Self.callKey) }, work)
    }

    // MARK: Transfers

    private func send(_ answer: URLRequest) async throws -> Reply {
        var request = try wire.changed(by: answer)
        budget.apply(to: &request)
        let transfer = try begin(request)
        transfer.start(over: base)
        // The transport has no limit if the user may turn the body into a file: then it is not collected.
        guard request.options.purpose == .memory, let limit = request.options.maximumBodySize else {
            return try await transfer.reply()
        }
        return try await transfer.collectedReply(upTo: limit)
    }

    private func begin(_ request: TransferRequest) throws(CurlewError) -> InterceptedTransfer {
        try state.withLock { state throws(CurlewError) in
            guard !state.isOver else { throw Self.isOver }
            state.lastKey += 1
            if case .stream(let stream, _) = request.body {
                if let reader = state.bodyReader {
                    guard state.transfers[reader] == nil else { throw Self.bodyIsBeingRead }
                    guard stream.isReplayable else { throw Self.bodyWasRead }
                }
                state.bodyReader = state.lastKey
            }
            let transfer = InterceptedTransfer(request, key: state.lastKey, of: self)
            state.transfers[state.lastKey] = transfer
            return transfer
        }
    }

    /// Records the server's verdict on the session's credentials. A response to an `Authorization` field that a
    /// middleware has set says nothing about them.
    func received(_ head: ResponseHead, to request: TransferRequest) {
        guard !request.bringsAuthorization else { return }
        state.withLock { $0.credentialStatus = head.status }
    }

    /// Called when a transfer has ended, before its outcome is published.
    func ended(_ key: Int) {
        controls.remove(key)
        _ = state.withLock { $0.transfers.removeValue(forKey: key) }
    }

    /// Ends the transfers that the reply did not need, and waits for them. A transfer that has left the list makes no
    /// call to the sink.
    private func endTransfers() async {
        let rest = state.withLock { Array($0.transfers.values) }
        for transfer in rest { transfer.cancel() }
        for transfer in rest { _ = await transfer.outcome.waitThroughCancellation() }
    }

    // MARK: Delivery

    private func deliver(_ reply: Reply) async throws(CurlewError) {
        if let source = reply.source, source.run === token {
            // Stops after a cancellation, as the transport would.
            for head in source.informational.withLock({ exchange(&$0, with: []) }) where delivery.ending == nil {
                sink.didReceive(informational: head)
            }
        }
        let limit = wire.sent.options.maximumBodySize
        let deadline = budget.remaining.map { ContinuousClock.now.advanced(by: $0) }
        do {
            _ = try await calling(in: .receive) { [self] in
                let next = reply.body.opened()
                return try await delivery.deliver(reply.head, to: sink, limit: limit, deadline: deadline) {
                    () async throws(CurlewError) -> Data? in
                    do { return try await next() } catch { throw wrapped(error) }
                }
            }
        } catch {
            throw wrapped(error)
        }
    }

    // MARK: Errors

    /// Converts an error of a middleware. Its `CancellationError` is a failure like others, unless the request was
    /// ended: it may have cancelled its own tasks.
    private func wrapped(_ error: any Error) -> CurlewError {
        if error is CancellationError, !Task.isCancelled, delivery.ending == nil { return .middlewareFailed(error) }
        return ErrorWrapping.interception(error)
    }

    private static let isOver = CurlewError(
        .unsupported, phase: .lifecycle, reason: "`next` was called after the middleware had returned")

    private static let bodyIsBeingRead = CurlewError(
        .bodyUnavailable, phase: .send, reason: "another call of `next` is reading the request's body")

    private static let bodyWasRead = CurlewError(
        .bodyUnavailable, phase: .send,
        reason: "the middleware sends the request again, but its body can be read only once")
}

/// One request that a middleware has sent over the network, or the cache, and its response: the transport's sink.
///
/// The transfer runs in a separate task, because the middleware continues when the head has arrived. The body waits in
/// a channel, which pauses the transport. The transfer ends when the body's reader is released.
final class InterceptedTransfer: TransferSink {
    /// The result. The transport makes no call afterwards.
    let outcome = OneShot<Result<TransferOutcome, CurlewError>>()
    private let request: TransferRequest
    private let key: Int
    private let run: MiddlewareRun
    private let head = OneShot<Result<ResponseHead, CurlewError>>()
    private let task: ExchangeTask
    private let channel: BodyChannel
    /// The informational responses. They wait for the reply: those of a reply that is not used are never delivered.
    private let informational = Lock<[ResponseHead]>([])

    init(_ request: TransferRequest, key: Int, of run: MiddlewareRun) {
        self.request = request
        self.key = key
        self.run = run
        let task = ExchangeTask()
        self.task = task
        channel = BodyChannel(onAbandon: { task.cancel() })
    }

    func start(over transport: any Transport) { task.start { [self] in await carryOut(over: transport) } }

    func cancel() { task.cancel() }

    private func carryOut(over transport: any Transport) async {
        let result: Result<TransferOutcome, CurlewError>
        do throws(CurlewError) {
            result = .success(try await transport.perform(request, sink: self))
        } catch {
            result = .failure(error)
        }
        // Called first, because a middleware that learns of the end may send the request, with its body, again.
        run.ended(key)
        outcome.resolve(result)
        head.resolve(result.map(\.head))
        // The body ends last, because a reader that has reached its end looks for the outcome.
        channel.finish(throwing: result.failure)
    }

    // MARK: The transport's calls

    func willStart(_ control: any TransferControl) {
        channel.producerStarts(control)
        run.controls.add(control, for: key)
    }

    func didReceive(informational head: ResponseHead) { informational.withLock { $0.append(head) } }

    // May be called while another reply of a middleware is being delivered. The lock of the exchange protects the state
    // that it changes.
    func didSend(bodyBytes: Int64, of expected: Int64?) { run.sink.didSend(bodyBytes: bodyBytes, of: expected) }

    func didReceive(head: ResponseHead) -> Disposition {
        run.received(head, to: request)
        self.head.resolve(.success(head))
        return .proceed
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { channel.receive(body) }

    // MARK: The middleware's reply

    /// Returns the reply when its head has arrived. Its body is read from the channel.
    func reply() async throws(CurlewError) -> Reply {
        // If the caller was cancelled, releasing the reader ends the transfer.
        let reader = StreamReader(claiming: channel)
        let head = try await arrivedHead()
        let body = Reply.Stream {
            var reader = reader
            return { try await reader.next() }
        }
        return Reply(head, .stream(body), from: source)
    }

    /// Returns the reply with its whole body. If it throws, the transfer has ended: a middleware that catches the error
    /// may send the request, with its body, again.
    func collectedReply(upTo limit: Int) async throws -> Reply {
        do {
            // The transport enforces the limit, if it is Curlew's own.
            let body = try await reply().data(upTo: limit)
            let head = try await outcome.waitThroughCancellation().get().head
            return Reply(head, .data(body), from: source)
        } catch {
            cancel()
            _ = await outcome.waitThroughCancellation()
            throw error
        }
    }

    private var source: Reply.Source {
        Reply.Source(informational: informational, outcome: outcome, run: run.token)
    }

    private func arrivedHead() async throws(CurlewError) -> ResponseHead {
        let arrived = await withTaskCancellationHandler {
            await head.waitThroughCancellation()
        } onCancel: {
            task.cancel()
        }
        return try arrived.get()
    }
}

extension Reply {
    /// The reply without the fields that the session stores. They belong to the request from whose exchange a
    /// middleware kept the reply. Stored again, they would replace those of later responses: a log-out would be undone.
    fileprivate var withoutSessionFields: Reply {
        var reply = self
        for name in ["Set-Cookie", "Strict-Transport-Security"] { reply.head.headers.remove(name: name) }
        return reply
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
