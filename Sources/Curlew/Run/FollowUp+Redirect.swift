internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The policy proposes the next request, and the redirect handler decides.
extension Run {
    /// Returns the reaction to a response that may be a redirect.
    func followRedirect(_ head: ResponseHead, of exchange: Exchange) async -> FollowUp {
        let lowered = exchange.hop.lowered
        let context = request.context
        let origin = RedirectOrigin(
            url: lowered.url,
            method: lowered.method,
            // A body that can be replaced is treated like one that can be read again.
            body: request.replacesBodies && !lowered.body.isReplayable ? .data(Data()) : lowered.body,
            hops: attempt.hops.count,
            opensWebSocket: request is WebSocketRequest
        )
        let action = context.configuration.redirects.action(for: head, answering: origin) {
            (url) throws(CurlewError) in
            guard let hsts = context.configuration.hsts else { return url }
            return try hsts.upgraded(url)
        }
        switch action {
        case .deliver: return .deliver
        case .refuse(let error): return await refusal(error, head, lowered.url)
        case .follow(let redirect): return await follow(redirect, head, of: exchange)
        }
    }

    /// Asks the handler about a redirect that cannot be followed: if it would not follow it anyway, the response is
    /// delivered.
    private func refusal(_ error: CurlewError, _ head: ResponseHead, _ url: URL) async -> FollowUp {
        guard let handler = redirectHandler, let location = head.headers.value(for: "Location"),
            let target = URL(string: location, relativeTo: url)
        else { return .refuse(error) }
        let response = LazyResponse(url: url, head: head)
        do throws(CurlewError) {
            let wanted = try await ask(handler, about: URLRequest(url: target.absoluteURL), for: response)
            return wanted == nil ? .deliver : .refuse(error)
        } catch {
            return .refuse(error)
        }
    }

    private func follow(_ redirect: Redirect, _ head: ResponseHead, of exchange: Exchange) async -> FollowUp {
        if request.isCancelled { return .refuse(request.cancellation) }
        let redirected = RedirectedRequest(redirect, exchange.hop, in: request)
        var (next, proposal) = (redirected.next, redirected.proposal)
        let response = LazyResponse(url: exchange.hop.lowered.url, head: head)
        var sendsSameBody = true
        do throws(CurlewError) {
            let context = request.context
            if let handler = redirectHandler {
                guard let answer = try await ask(handler, about: proposal, for: response) else { return .deliver }
                let changed = redirected.withoutSecrets(answer.withoutDotSegments(in: context))
                if !changed.isSent(like: proposal) {
                    next = try redirected.replaced(by: changed)
                    sendsSameBody = changed.hasBody(of: proposal)
                    proposal = changed
                }
            }
            // A body that the handler has set has not been read yet.
            if sendsSameBody { next.body = try await request.bodyToSendAgain(next.body) }
        } catch {
            return .refuse(error)
        }
        request.note(redirect: .made(proposal), as: next, sendsSameBody: sendsSameBody)
        if redirected.leavesCredentials(next) { attempt.hasLeftCredentials = true }
        emitRedirect(exchange.metrics, response, to: proposal)
        attempt = attempt.adding(RedirectHop(url: response.url, status: head.status, location: next.url))
        return moves(to: next, .made(proposal))
    }

    private var redirectHandler: (any RedirectHandler)? {
        request.record.withLock { $0.extras?.options.redirectHandler } ?? request.context.redirectHandler
    }

    /// Returns the request that the handler wants to send next, or `nil` if the redirect is not followed.
    private func ask(
        _ handler: any RedirectHandler,
        about proposal: URLRequest,
        for response: LazyResponse
    ) async throws(CurlewError) -> URLRequest? {
        guard let lifted = response.value else { return proposal }
        let task = task
        do {
            let answer = try await foreign(in: .redirect) {
                await handler.task(task, willBeRedirectedTo: proposal, for: lifted)
            }
            if request.isCancelled { throw request.cancellation }
            return answer
        } catch {
            throw (error as? CurlewError) ?? request.cancellation
        }
    }

    private func emitRedirect(_ metrics: TransferMetrics, _ response: LazyResponse, to next: URLRequest) {
        guard let events else { return }
        emitStep(metrics)
        let (request, task, head, url) = (request, task, response.head, response.url)
        events.emitExchange { $0.request(request, task: task, willFollowRedirect: head, from: url, to: next) }
    }
}
