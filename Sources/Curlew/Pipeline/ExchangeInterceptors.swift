internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The exchange adapters and the middleware of an attempt. A class, so that requests without them have one empty
/// pointer.
final class ExchangeInterceptors: Sendable {
    let adapters: [any ExchangeAdapter]
    /// The outermost first.
    let middleware: [any RequestMiddleware]

    /// `nil` without either.
    init?(_ adapters: [any ExchangeAdapter], _ middleware: [any RequestMiddleware]) {
        if adapters.isEmpty, middleware.isEmpty { return nil }
        self.adapters = adapters
        self.middleware = middleware
    }
}

extension Exchange {
    /// Sends a request of the exchange over the transport, through exchange adapters and middleware.
    ///
    /// `request` is that of the exchange, or one for a segment of its download. Changes by adapters and middleware
    /// apply only to this transfer.
    func perform(
        _ request: TransferRequest,
        over transport: any Transport,
        to sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        guard let interceptors else { return try await transport.perform(request, sink: sink) }
        var request = request
        if !interceptors.adapters.isEmpty {
            request = try await adapted(request, by: interceptors.adapters, for: sink)
            budget.apply(to: &request)
        }
        // Middleware returns responses, and a WebSocket is none.
        guard !interceptors.middleware.isEmpty, !self.request.opensWebSocket else {
            var outcome = try await transport.perform(request, sink: sink)
            if request.bringsAuthorization { outcome.isServersVerdict = false }
            return outcome
        }
        let run = MiddlewareRun(
            request, of: self.request, through: interceptors.middleware, over: transport, to: sink, budget)
        return try await run.perform()
    }

    /// Returns the request as the adapters change it. The sink gets a control that cancels the adapters; later the
    /// transport's control replaces it.
    private func adapted(
        _ sent: TransferRequest,
        by adapters: [any ExchangeAdapter],
        for sink: any TransferSink
    ) async throws(CurlewError) -> TransferRequest {
        let wire = WireRequest(sent, keepsDotSegments: session.context.configuration.keepsDotSegments)
        let info = ExchangeInfo(
            .request(self.request),
            attempt: sent.attempt,
            hop: hop,
            resendCount: resendCount,
            url: sent.url,
            task: sent.identifier,
            hasStreamedBody: wire.hasStreamedBody,
            leavesOrigin: leavesOrigin
        )
        let answer: Result<URLRequest, any Error>
        do {
            answer = try await request.callingUserCode(in: .adaptation, budget, behind: { sink.willStart($0) }) {
                // Returned as a result, so that an error of the adapters is not mistaken for this request's own total
                // timeout.
                await Result.of {
                    var adapted = wire.view
                    for adapter in adapters { adapted = try await adapter.adapt(adapted, for: info) }
                    return adapted
                }
            }
        } catch {
            throw (error as? CurlewError) ?? .cancelled
        }
        switch answer {
        case .success(let adapted): return try wire.changed(by: adapted)
        case .failure(let error): throw ErrorWrapping.adaptation(error)
        }
    }
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

    func start(over transport: any Transport) { task.start { [self] in await perform(over: transport) } }

    func cancel() { task.cancel() }

    private func perform(over transport: any Transport) async {
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

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
