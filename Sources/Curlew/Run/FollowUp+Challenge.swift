internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Returns the reaction to a challenge, which the session's credentials hook decides. Without a hook the response
    /// is delivered.
    func followChallenge(_ head: ResponseHead, of exchange: Exchange) async -> FollowUp {
        let hop = exchange.hop
        guard let credentials = request.context.configuration.decisions?.credentials,
            let response = LazyResponse(url: hop.lowered.url, head: head).value
        else { return .deliver }
        let challenges = AuthenticationChallenge.parse(head.headers.values(for: "WWW-Authenticate"))
        do {
            let answer = try await foreign(in: .receive) { [request, failures = attempt.answeredChallenges] in
                await credentials(request, response, challenges, failures)
            }
            if request.isCancelled { return .refuse(request.cancellation) }
            switch answer {
            case .success(nil): return .deliver
            case .failure(let error):
                let reason = "the session's challenge hook refuses"
                return .refuse(
                    CurlewError(.authenticationFailed, phase: .receive, reason: reason, underlying: error)
                )
            case .success(let authentication?):
                let next = try await answered(hop.lowered, with: authentication)
                attempt.answeredChallenges += 1
                emitStep(exchange.metrics)
                return moves(to: next, hop.visible)
            }
        } catch {
            return .refuse((error as? CurlewError) ?? request.cancellation)
        }
    }

    private func answered(
        _ lowered: TransferRequest,
        with authentication: TransferAuthentication
    ) async throws(CurlewError) -> TransferRequest {
        var next = lowered
        next.options.authentication = authentication
        next.headers.remove(name: "Authorization")
        next.defaultHeaders = next.defaultHeaders?.without(["Authorization"])
        next.body = try await request.bodyToSendAgain(next.body)
        return next
    }
}

extension Request {
    /// Returns the body. If it can be read only once, the session's hook is asked for another one.
    func bodyToSendAgain(_ body: BodySource) async throws(CurlewError) -> BodySource {
        if body.isReplayable { return body }
        if let hook = context.configuration.decisions?.newBodyStream,
            let new = await UserCode.call(for: self, { await hook(self) })
        {
            _ = record.withLock { exchange(&$0.history.uploadable, with: UploadRequest.Uploadable(new)) }
            if let upload = self as? UploadRequest {
                eventSink?.emit { $0.request(upload, didCreateBody: .success(UploadRequest.Uploadable(new))) }
            }
            return new
        }
        throw CurlewError(
            .bodyUnavailable, phase: .send, reason: "the body has to be sent again, but can be read only once")
    }

    /// Whether the session can replace a body that can be read only once.
    var replacesBodies: Bool { context.configuration.decisions?.newBodyStream != nil }
}
