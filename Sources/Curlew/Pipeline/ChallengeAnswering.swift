internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Finds out what follows a response that wants credentials, where the session has a say in that.
struct ChallengeAnswering {
    let attempt: Attempt
    let lowered: TransferRequest
    let failureCount: Int

    enum Next {
        case deliver
        case refuse(CurlewError)
        case again(TransferRequest)
    }

    func next(after head: ResponseHead) async -> Next {
        let request = attempt.request
        guard let hook = request.challengeHook, failureCount < ServerChallenge.limit,
            let response = LazyResponse(url: lowered.url, head: head).value
        else { return .deliver }
        let challenge = ServerChallenge(
            request: request,
            response: response,
            challenges: AuthenticationChallenge.parse(head.headers.values(for: "WWW-Authenticate")),
            failureCount: failureCount
        )
        do {
            let answer = try await request.foreign(
                ownsTask: attempt.rules.ownsTask, budget: attempt.budget, in: .receive
            ) {
                await hook(challenge)
            }
            if request.isCancelled { return .refuse(request.cancellation) }
            switch answer {
            case .deliver: return .deliver
            case .cancel:
                request.cancel()
                return .refuse(request.cancellation)
            case .fail(let error):
                let reason = "the session's challenge hook refuses"
                return .refuse(
                    CurlewError(.authenticationFailed, phase: .receive, reason: reason, underlying: error)
                )
            case .use(let authentication):
                var next = lowered
                next.options.authentication = authentication
                next.headers.remove(name: "Authorization")
                next.defaultHeaders = next.defaultHeaders?.without(["Authorization"])
                next.body = try await request.bodyToSendAgain(next.body)
                return .again(next)
            }
        } catch {
            return .refuse((error as? CurlewError) ?? request.cancellation)
        }
    }
}

extension Request {
    var challengeHook: (@Sendable (ServerChallenge) async -> ServerChallenge.Answer)? {
        context.configuration.hooks?.challenge
    }

    /// The body, or another in place of one that can be read only once.
    func bodyToSendAgain(_ body: BodySource) async throws(CurlewError) -> BodySource {
        if body.isReplayable { return body }
        if let hook = context.configuration.hooks?.newBodyStream, let new = await hook(self) {
            _ = record.withLock { exchange(&$0.uploadable, with: UploadRequest.Uploadable(new)) }
            eventSink?.emit { [self] monitor in
                guard let upload = self as? UploadRequest, case .stream(let stream, _) = new else { return }
                monitor.request(upload, didProvideInputStream: stream)
            }
            return new
        }
        throw CurlewError(.bodyUnavailable, phase: .send, reason: "the body is needed again, and cannot be read twice")
    }

    /// Whether a body that can be read once is no reason to stop.
    var replacesBodies: Bool { context.configuration.hooks?.newBodyStream != nil }
}
