internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The decision about a response.
enum FollowUp {
    /// The response is delivered.
    case deliver
    /// The request fails: the response can be neither followed nor delivered.
    case refuse(CurlewError)
    case send(OutgoingRequest)
}

// Decides what follows a redirect, a challenge or stored credentials: asks the redirect policy, the user's handler and
// the stored credentials, and acts on their answers. libcurl answers the challenges of credentials that it was given.
// The request that a redirect leads to is made in RedirectedRequest.swift.
extension Run {
    /// Decides about the response of an exchange: deliver it, refuse it, or send another request.
    func followUp(_ exchange: Exchange) async -> FollowUp {
        guard let response = exchange.outcomeForFollowUp else { return .deliver }
        if let answer = request.context.updateCredentials(after: response, of: exchange) {
            // To monitors and users this is one exchange, as if the transport had answered the challenge.
            var again = exchange.outgoing
            again.sessionCredentials = answer
            again.occasion = .repetition
            return .send(again)
        }
        // Recorded only now: the early return repeats this exchange, which records metrics itself.
        if let metrics = exchange.metrics {
            request.record.withLock { $0.history.lastAttempt.collectedMetrics.append(metrics) }
        }
        switch response.head.status {
        case 401: return await followChallenge(response, of: exchange)
        case 300..<400: return await followRedirect(response, of: exchange)
        default: return .deliver
        }
    }

    /// Returns the next exchange's request, with a new identifier.
    private func nextExchange(_ transfer: TransferRequest, _ snapshot: RequestSnapshot) -> FollowUp {
        exchangeID = session.registry.withLock { $0.nextExchangeID(of: request, after: exchangeID) }
        var next = transfer
        next.identifier = exchangeID
        return .send(OutgoingRequest(snapshot: snapshot, transferRequest: next))
    }

    /// Reports the metrics of an exchange that has ended to the session's monitors.
    func emitCollected(_ metrics: TransferMetrics?) {
        guard let metrics else { return }
        let (request, task) = (request, exchangeID)
        events?.emitExchange { $0.request(request, task: task, didFinishCollecting: metrics) }
    }
}

extension Exchange {
    /// Whether the exchange keeps a response with this head until the run has decided: it is a redirect, or a challenge
    /// that someone may answer.
    func mayBeFollowed(_ head: ResponseHead) -> Bool {
        if head.status == 401 {
            return request.context.configuration.decisions?.credentials != nil
                || credentials.answers(head, from: url, to: request)
        }
        return head.status < 400 && HTTPStatus(head.status).isRedirect && head.headers.contains(name: "Location")
    }
}

// MARK: Redirects

// The policy proposes the next request, and the redirect handler decides.
extension Run {
    /// Returns the reaction to a response that may be a redirect.
    private func followRedirect(_ response: TransferOutcome, of exchange: Exchange) async -> FollowUp {
        let (head, transfer) = (response.head, exchange.outgoing.transferRequest)
        let context = request.context
        let source = RedirectSource(
            url: transfer.url,
            method: transfer.method,
            // A body that can be replaced is treated like one that can be read again.
            body: request.replacesBodies && !transfer.body.isReplayable ? .data(Data()) : transfer.body,
            hops: attempt.hops.count,
            opensWebSocket: request.opensWebSocket
        )
        let action = context.configuration.redirects.action(for: head, answering: source) {
            (url) throws(CurlewError) in
            guard let hsts = context.configuration.hsts else { return url }
            return try hsts.upgraded(url)
        }
        switch action {
        case .deliver: return .deliver
        case .refuse(let error): return await refusal(error, head, transfer.url)
        case .follow(let redirect): return await follow(redirect, response, of: exchange)
        }
    }

    /// Asks the handler about a redirect that cannot be followed: if the handler would not follow it anyway, the
    /// response is delivered.
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

    private func follow(_ redirect: Redirect, _ outcome: TransferOutcome, of exchange: Exchange) async -> FollowUp {
        if request.isCancelled { return .refuse(request.cancellation) }
        let redirected = RedirectedRequest(redirect, exchange.outgoing, in: request)
        var (next, proposal) = (redirected.next, redirected.proposal)
        let response = LazyResponse(url: exchange.url, head: outcome.head)
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
            if sendsSameBody { next.body = try await bodyToSendAgain(next.body) }
        } catch {
            return .refuse(error)
        }
        request.addToHistory(redirect: .made(proposal), as: next, sendsSameBody: sendsSameBody)
        if redirected.leavesCredentials(next) { attempt.hasLeftCredentials = true }
        emitRedirect(exchange.metrics, response, to: proposal)
        attempt.hops.append(RedirectHop(url: response.url, status: outcome.head.status, location: next.url))
        return nextExchange(next, .made(proposal))
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
        guard let foundationResponse = response.value else { return proposal }
        let task = exchangeID
        do {
            let answer = try await callingUserCode(in: .redirect) {
                await handler.task(task, willBeRedirectedTo: proposal, for: foundationResponse)
            }
            if request.isCancelled { throw request.cancellation }
            return answer
        } catch {
            throw (error as? CurlewError) ?? request.cancellation
        }
    }

    private func emitRedirect(_ metrics: TransferMetrics?, _ response: LazyResponse, to next: URLRequest) {
        guard let events else { return }
        emitCollected(metrics)
        let (request, task, head, url) = (request, exchangeID, response.head, response.url)
        events.emitExchange { $0.request(request, task: task, willFollowRedirect: head, from: url, to: next) }
    }
}

// MARK: Challenges

extension Run {
    /// Returns the reaction to a challenge, which the session's credentials hook decides. Without a hook the response
    /// is delivered.
    private func followChallenge(_ outcome: TransferOutcome, of exchange: Exchange) async -> FollowUp {
        let (head, outgoing) = (outcome.head, exchange.outgoing)
        guard let credentials = request.context.configuration.decisions?.credentials,
            let response = LazyResponse(url: exchange.url, head: head).value
        else { return .deliver }
        let challenges = AuthenticationChallenge.parse(head.headers.values(for: "WWW-Authenticate"))
        do {
            let answer = try await callingUserCode(in: .receive) { [request, failures = attempt.answeredChallenges] in
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
                let next = try await answered(outgoing.transferRequest, with: authentication)
                attempt.answeredChallenges += 1
                emitCollected(exchange.metrics)
                return nextExchange(next, outgoing.snapshot)
            }
        } catch {
            return .refuse((error as? CurlewError) ?? request.cancellation)
        }
    }

    private func answered(
        _ transfer: TransferRequest,
        with authentication: TransferAuthentication
    ) async throws(CurlewError) -> TransferRequest {
        var next = transfer
        next.options.authentication = authentication
        next.headers.remove(name: "Authorization")
        next.defaultHeaders = next.defaultHeaders?.without(["Authorization"])
        next.body = try await bodyToSendAgain(next.body)
        return next
    }
}

// MARK: A body that is sent again

extension Run {
    /// Returns the body. If it can be read only once, the session's hook is asked for another one.
    func bodyToSendAgain(_ body: BodySource) async throws(CurlewError) -> BodySource {
        if body.isReplayable { return body }
        if let hook = request.context.configuration.decisions?.newBodyStream, let new = try await newBody(from: hook) {
            request.kind.bodyMaker?.replace(by: new, for: request, request.eventSink)
            return new
        }
        throw CurlewError(
            .bodyUnavailable, phase: .send, reason: "the body has to be sent again, but can be read only once")
    }

    private func newBody(
        from hook: @escaping @Sendable (Request) async -> BodySource?
    ) async throws(CurlewError) -> BodySource? {
        do {
            let new = try await callingUserCode(in: .send) { [request] in await hook(request) }
            if request.isCancelled { throw request.cancellation }
            return new
        } catch {
            throw (error as? CurlewError) ?? request.cancellation
        }
    }
}

extension Request {
    /// Whether the session can replace a body that can be read only once.
    var replacesBodies: Bool { context.configuration.decisions?.newBodyStream != nil }
}
