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

extension SessionContext {
    /// Returns the session's exchange adapters and middleware, followed by the request's own. `nil` without any.
    func exchangeInterceptors(before own: RequestExtras?) -> ExchangeInterceptors? {
        guard let own, !(own.options.exchangeAdapters.isEmpty && own.options.middleware.isEmpty) else {
            return exchangeInterceptors
        }
        return ExchangeInterceptors(
            configuration.exchangeAdapters + own.options.exchangeAdapters,
            configuration.middleware + own.options.middleware
        )
    }
}

extension Exchange {
    /// Sends a request of the exchange over the transport, through exchange adapters and middleware.
    ///
    /// That is the request of the exchange, or one for a segment of its download. What adapters and middleware change
    /// is in no other copy of the request.
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
        // A WebSocket is not a response.
        guard !interceptors.middleware.isEmpty, !self.request.kind.opensWebSocket else {
            var outcome = try await transport.perform(request, sink: sink)
            if request.bringsAuthorization { outcome.isServersVerdict = false }
            return outcome
        }
        let run = MiddlewareRun(
            request, of: self.request, through: interceptors.middleware, over: transport, to: sink, budget)
        return try await run.perform()
    }

    /// Returns the request as the adapters change it. The sink's owner can cancel them; the transport then replaces the
    /// control that the sink gets here.
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
                // A result: what the adapters throw is theirs, even the total timeout of a request that they sent.
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
