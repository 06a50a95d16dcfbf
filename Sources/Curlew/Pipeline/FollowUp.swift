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

// Decides what follows a redirect, a challenge or stored credentials. No other code does.
extension Run {
    /// Decides about a response that another exchange may follow: deliver it, refuse it, or send another request.
    func followUp(_ exchange: Exchange, _ response: TransferOutcome) async -> FollowUp {
        if let answer = request.context.learn(from: exchange, response, keeps: keepsAuthentication) {
            // To monitors and users this is one exchange, as if the transport had answered the challenge.
            var again = exchange.outgoing
            again.storedAnswer = answer
            again.announcement = .started
            return .send(again)
        }
        // Only here: the exchange above is repeated, and would add its metrics twice.
        if let metrics = exchange.metrics {
            request.record.withLock { $0.history.attempt.collectedMetrics.append(metrics) }
        }
        switch response.head.status {
        case 401: return await followChallenge(response, of: exchange)
        case 300..<400: return await followRedirect(response, of: exchange)
        default: return .deliver
        }
    }

    /// Returns the next exchange, under a new identifier.
    private func moves(to lowered: TransferRequest, _ visible: RequestSnapshot) -> FollowUp {
        task = session.nextTask(of: request, after: task)
        var lowered = lowered
        lowered.identifier = task
        return .send(OutgoingRequest(snapshot: visible, transfer: lowered))
    }

    /// Reports the end of an exchange to the session's monitors.
    func emitStep(_ metrics: TransferMetrics?) {
        guard let metrics else { return }
        let (request, task) = (request, task)
        events?.emitExchange { $0.request(request, task: task, didFinishCollecting: metrics) }
    }

    /// Whether the session stores the credentials, because the request set them and asks for that.
    private func keepsAuthentication(_ used: TransferAuthentication) -> Bool {
        request.record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.keepsAuthentication && options.authentication == used
        }
    }
}

// MARK: Redirects

// The policy proposes the next request, and the redirect handler decides.
extension Run {
    /// Returns the reaction to a response that may be a redirect.
    private func followRedirect(_ response: TransferOutcome, of exchange: Exchange) async -> FollowUp {
        let (head, lowered) = (response.head, exchange.outgoing.transfer)
        let context = request.context
        let origin = RedirectOrigin(
            url: lowered.url,
            method: lowered.method,
            // A body that can be replaced is treated like one that can be read again.
            body: request.replacesBodies && !lowered.body.isReplayable ? .data(Data()) : lowered.body,
            hops: attempt.hops.count,
            opensWebSocket: request.kind.opensWebSocket
        )
        let action = context.configuration.redirects.action(for: head, answering: origin) {
            (url) throws(CurlewError) in
            guard let hsts = context.configuration.hsts else { return url }
            return try hsts.upgraded(url)
        }
        switch action {
        case .deliver: return .deliver
        case .refuse(let error): return await refusal(error, head, lowered.url)
        case .follow(let redirect): return await follow(redirect, response, of: exchange)
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
            if sendsSameBody { next.body = try await request.bodyToSendAgain(next.body) }
        } catch {
            return .refuse(error)
        }
        request.note(redirect: .made(proposal), as: next, sendsSameBody: sendsSameBody)
        if redirected.leavesCredentials(next) { attempt.hasLeftCredentials = true }
        emitRedirect(exchange.metrics, response, to: proposal)
        attempt.hops.append(RedirectHop(url: response.url, status: outcome.head.status, location: next.url))
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
            let answer = try await callingUserCode(in: .redirect) {
                await handler.task(task, willBeRedirectedTo: proposal, for: lifted)
            }
            if request.isCancelled { throw request.cancellation }
            return answer
        } catch {
            throw (error as? CurlewError) ?? request.cancellation
        }
    }

    private func emitRedirect(_ metrics: TransferMetrics?, _ response: LazyResponse, to next: URLRequest) {
        guard let events else { return }
        emitStep(metrics)
        let (request, task, head, url) = (request, task, response.head, response.url)
        events.emitExchange { $0.request(request, task: task, willFollowRedirect: head, from: url, to: next) }
    }
}

/// The request that a redirect leads to, without the fields and credentials that belong to the previous origin.
struct RedirectedRequest {
    /// The next request, as the transport takes it.
    let next: TransferRequest
    /// The next request, as users see it.
    let proposal: URLRequest
    private let lowered: TransferRequest
    private let request: Request

    init(_ redirect: Redirect, _ sent: OutgoingRequest, in request: Request) {
        let context = request.context
        let removed = redirect.headersToRemove(
            from: sent.transfer.effectiveHeaders, by: context.configuration.redirects)
        var next = sent.transfer
        next.url = redirect.url
        next.method = redirect.method
        for name in removed { next.headers.remove(name: name) }
        // The session's fields may be secrets as well.
        next.defaultHeaders = next.defaultHeaders.map { context.defaultHeaders($0.without(removed), at: redirect.url) }
        if redirect.dropsBody { (next.body, next.trailers) = (.none, nil) }
        if redirect.leavesOrigin { next.options.authentication = nil }
        if let routing = context.configuration.proxyRouting {
            next.options.proxy = routing(redirect.url) ?? Proxy.none
        }
        self.next = next
        proposal = Self.proposal(redirect, for: sent.snapshot.urlRequest, without: removed)
        lowered = sent.transfer
        self.request = request
    }

    private static func proposal(_ redirect: Redirect, for sent: URLRequest, without removed: [String]) -> URLRequest {
        var proposal = sent
        proposal.url = redirect.url
        proposal.httpMethod = redirect.method.rawValue
        for name in removed { proposal.setValue(nil, forHTTPHeaderField: name) }
        if redirect.dropsBody {
            proposal.httpBody = nil
            proposal.httpBodyStream = nil
        }
        return proposal
    }

    /// Returns the redirect handler's answer without the secrets of the previous origin.
    ///
    /// A handler may replace a redirect within the origin by one to another origin. The fields that it left unchanged
    /// are then removed, as if the server had redirected there. The fields that it set or changed are sent.
    func withoutSecrets(_ answer: URLRequest) -> URLRequest {
        guard let url = answer.url, !RedirectLocation.isSameOrigin(lowered.url, url) else { return answer }
        var answer = answer
        for field in HTTPHeaders(answer.allHTTPHeaderFields ?? [:])
        where policy.staysBehind(field) && proposal.value(forHTTPHeaderField: field.name) == field.value {
            answer.setValue(nil, forHTTPHeaderField: field.name)
        }
        return answer
    }

    /// Returns the transfer request for a request that the redirect handler has changed.
    func replaced(by changed: URLRequest) throws(CurlewError) -> TransferRequest {
        let context = request.context
        var own = request.record.withLock { $0.extras?.options } ?? RequestOptions()
        // Credentials that an earlier redirect has removed are not added again.
        own.authentication = lowered.options.authentication
        let lowering = Lowering(context: context, own: own, purpose: next.options.purpose)
        // The body of an upload is not in its `URLRequest`.
        let body = changed.hasBody(of: proposal) ? next.body : nil
        if body == nil || next.trailers == nil { own.trailers = nil }
        var result = try lowering.lower(
            .made(changed),
            body: body,
            task: next.identifier,
            attempt: next.attempt,
            remaining: next.options.timeouts.total
        )
        result.defaultHeaders = next.defaultHeaders
        result.options.cache = next.options.cache
        if !RedirectLocation.isSameOrigin(lowered.url, result.url) {
            result.options.authentication = nil
            // If the redirect stayed within the origin that the handler leaves, `next` still has the session's secret
            // fields.
            if let shared = next.defaultHeaders {
                let secret = shared.headers.filter(policy.staysBehind).map(\.name)
                result.defaultHeaders = context.defaultHeaders(shared.without(secret), at: result.url)
            }
        }
        return result
    }

    private var policy: RedirectPolicy { request.context.configuration.redirects }

    /// Whether secrets were removed because of the new origin, and no handler has replaced them.
    func leavesCredentials(_ next: TransferRequest) -> Bool {
        guard !RedirectLocation.isSameOrigin(lowered.url, next.url) else { return false }
        if lowered.options.authentication != nil, next.options.authentication == nil { return true }
        let sent = next.effectiveHeaders
        return lowered.effectiveHeaders.contains {
            SecretNames.containsField($0.name) && policy.staysBehind($0) && !sent.contains(name: $0.name)
        }
    }
}

extension DefaultHeaders {
    /// Returns the fields without those of these names.
    func without(_ names: [String]) -> DefaultHeaders {
        guard names.contains(where: headers.contains(name:)) else { return self }
        var reduced = headers
        for name in names { reduced.remove(name: name) }
        return DefaultHeaders(reduced)
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
                let next = try await answered(outgoing.transfer, with: authentication)
                attempt.answeredChallenges += 1
                emitStep(exchange.metrics)
                return moves(to: next, outgoing.snapshot)
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
            kind.upload?.replace(by: new, for: self, eventSink)
            return new
        }
        throw CurlewError(
            .bodyUnavailable, phase: .send, reason: "the body has to be sent again, but can be read only once")
    }

    /// Whether the session can replace a body that can be read only once.
    var replacesBodies: Bool { context.configuration.decisions?.newBodyStream != nil }
}

// MARK: Stored credentials

/// The use of the session's stored credentials in one exchange.
enum StoredCredentials {
    /// The request brings credentials, none are stored, or the body cannot be sent again after a challenge.
    case none
    /// The credentials are sent along.
    case offered(TransferAuthentication)
    /// The credentials may answer a challenge.
    case mayAnswer
}

extension StoredCredentials {
    /// Returns whether stored credentials answer a challenge. It is then not delivered; the request is sent again with
    /// credentials.
    func answers(_ head: ResponseHead, from url: URL, to request: Request) -> Bool {
        switch self {
        case .none, .offered: false
        case .mayAnswer:
            request.context.credentials.withLock {
                $0.answer(to: head, for: url, onlyBasic: request.kind.opensWebSocket) != nil
            }
        }
    }
}

extension SessionContext {
    /// Returns the use of stored credentials for the next exchange.
    func storedCredentials(for next: OutgoingRequest, onlyBasic: Bool) -> StoredCredentials {
        let lowered = next.transfer
        if let answer = next.storedAnswer { return .offered(answer) }
        if credentials.isEmpty || lowered.options.hasAuthentication || lowered.headers.contains(name: "Authorization")
            || lowered.defaultHeaders?.headers.contains(name: "Authorization") == true
        {
            return .none
        }
        if let expected = credentials.withLock({ $0.expected(by: lowered.url, onlyBasic: onlyBasic) }) {
            return .offered(expected)
        }
        return lowered.body.isReplayable ? .mayAnswer : .none
    }

    /// Stores credentials that the server has accepted, and forgets those that it has refused. A 401 that middleware
    /// made can ask for credentials, and refuses none. Returns the credentials
    /// to send the request again with, or `nil`. `keeps` says whether to store the request's own credentials.
    func learn(
        from exchange: Exchange,
        _ response: TransferOutcome,
        keeps: (TransferAuthentication) -> Bool
    ) -> TransferAuthentication? {
        let (head, url) = (response.head, exchange.url)
        let challenge = response.isServersVerdict ? response.answeredChallenges.last : nil
        switch exchange.credentials {
        case .mayAnswer:
            guard head.status == 401, exchange.isProvisional else { return nil }
            let onlyBasic = exchange.request.kind.opensWebSocket
            return credentials.withLock { $0.answer(to: head, for: url, onlyBasic: onlyBasic) }
        case .offered(let used):
            if head.status == 401, response.isServersVerdict {
                credentials.withLock { $0.refused(used, for: url) }
            } else if let challenge {
                credentials.withLock { $0.accepted(used, for: url, after: challenge) }
            }
        case .none:
            guard head.status != 401, let challenge, let used = exchange.outgoing.transfer.options.authentication,
                keeps(used)
            else { return nil }
            credentials.withLock { $0.accepted(used, for: url, after: challenge) }
        }
        return nil
    }
}
