internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Finds out what follows a response that may be a redirect: the policy proposes, the handler disposes.
struct Redirection {
    let attempt: Attempt
    let lowered: TransferRequest
    let urlRequest: URLRequest
    let hops: [RedirectHop]

    enum Next {
        case deliver
        case refuse(CurlewError)
        /// `leavesCredentials`: the next request lacks some that this one had.
        case follow(TransferRequest, URLRequest, RedirectHop, leavesCredentials: Bool)
    }

    func next(after head: ResponseHead) async -> Next {
        let context = attempt.request.context
        let origin = RedirectOrigin(
            url: lowered.url,
            method: lowered.method,
            // One that can be replaced is as good as one that can be read twice.
            body: attempt.request.replacesBodies && !lowered.body.isReplayable ? .data(Data()) : lowered.body,
            hops: hops.count
        )
        let action = context.configuration.redirects.action(for: head, answering: origin) {
            (url) throws(CurlewError) in
            guard let hsts = context.configuration.hsts else { return url }
            return try hsts.upgraded(url)
        }
        switch action {
        case .deliver: return .deliver
        case .refuse(let error): return await refusal(error, head)
        case .follow(let redirect): return await follow(redirect, head)
        }
    }

    /// A handler that follows nothing need not care about a redirect that could not be followed.
    private func refusal(_ error: CurlewError, _ head: ResponseHead) async -> Next {
        guard let handler, let location = head.headers.value(for: "Location"),
            let target = URL(string: location, relativeTo: lowered.url)
        else { return .refuse(error) }
        let response = LazyResponse(url: lowered.url, head: head)
        let answer = await ask(handler, about: URLRequest(url: target.absoluteURL), for: response)
        switch answer {
        case .success(nil): return .deliver
        case .success: return .refuse(error)
        case .failure(let interruption): return .refuse(interruption)
        }
    }

    private func follow(_ redirect: Redirect, _ head: ResponseHead) async -> Next {
        if attempt.request.isCancelled { return .refuse(attempt.request.cancellation) }
        var next = lowered
        next.url = redirect.url
        next.method = redirect.method
        let context = attempt.request.context
        let removed = redirect.headersToRemove(
            from: lowered.effectiveHeaders.map(\.name), by: context.configuration.redirects)
        for name in removed { next.headers.remove(name: name) }
        // The session's own fields may hold secrets as well.
        next.defaultHeaders = next.defaultHeaders.map { context.defaultHeaders($0.without(removed), at: redirect.url) }
        if redirect.dropsBody { next.body = .none }
        if redirect.leavesOrigin { next.options.authentication = nil }
        if let routing = context.configuration.proxyRouting {
            next.options.proxy = routing(redirect.url) ?? Proxy.none
        }
        var proposal = proposal(redirect, without: removed)
        var hasOwnBody = true
        let response = LazyResponse(url: lowered.url, head: head)
        if let handler {
            switch await ask(handler, about: proposal, for: response) {
            case .success(nil): return .deliver
            case .success(let answer?):
                let changed = answer.withoutDotSegments
                guard !changed.isSent(like: proposal) else { break }
                do throws(CurlewError) {
                    next = try apply(changed, insteadOf: proposal, to: next)
                } catch {
                    return .refuse(error)
                }
                hasOwnBody = changed.hasBody(of: proposal)
                proposal = changed
            case .failure(let interruption): return .refuse(interruption)
            }
        }
        // A body of the handler's has not been read yet.
        if hasOwnBody {
            do throws(CurlewError) {
                next.body = try await attempt.request.bodyToSendAgain(next.body)
            } catch {
                return .refuse(error)
            }
        }
        attempt.request.record.withLock { $0.requests.append(.made(proposal)) }
        let hop = RedirectHop(url: lowered.url, status: head.status, location: next.url)
        return .follow(next, proposal, hop, leavesCredentials: lacksCredentials(next, removed, redirect))
    }

    /// Whether secrets stayed behind with their origin, and no handler has put others in their place.
    private func lacksCredentials(_ next: TransferRequest, _ removed: [String], _ redirect: Redirect) -> Bool {
        guard redirect.leavesOrigin else { return false }
        if lowered.options.authentication != nil, next.options.authentication == nil { return true }
        let sent = next.effectiveHeaders
        return removed.contains { SecretNames.containsField($0) && !sent.contains(name: $0) }
    }

    /// What users see of the next request.
    private func proposal(_ redirect: Redirect, without removed: [String]) -> URLRequest {
        var proposal = urlRequest
        proposal.url = redirect.url
        proposal.httpMethod = redirect.method.rawValue
        for name in removed { proposal.setValue(nil, forHTTPHeaderField: name) }
        if redirect.dropsBody {
            proposal.httpBody = nil
            proposal.httpBodyStream = nil
        }
        return proposal
    }

    /// The handler has made a request of its own.
    private func apply(
        _ changed: URLRequest,
        insteadOf proposal: URLRequest,
        to next: TransferRequest
    ) throws(CurlewError) -> TransferRequest {
        let context = attempt.request.context
        let wishes = attempt.request.record.withLock { Lowering.Wishes($0.extras?.options ?? RequestOptions()) }
        // What an earlier hop has left behind with its origin stays there.
        wishes.authentication = lowered.options.authentication
        let lowering = Lowering(context: context, wishes: wishes, purpose: next.options.purpose)
        // An upload's body does not stand in its `URLRequest`.
        let body = changed.hasBody(of: proposal) ? next.body : nil
        var result = try lowering.lower(
            .made(changed),
            body: body,
            task: next.identifier,
            attempt: next.attempt,
            remaining: next.options.timeouts.total
        )
        result.defaultHeaders = next.defaultHeaders
        if !RedirectLocation.isSameOrigin(lowered.url, result.url) {
            result.options.authentication = nil
            // The redirect may have stayed within the origin that the handler leaves.
            if let shared = next.defaultHeaders {
                let secret = shared.headers.map(\.name).filter(context.configuration.redirects.staysBehind)
                result.defaultHeaders = context.defaultHeaders(shared.without(secret), at: result.url)
            }
        }
        return result
    }

    private var handler: (any RedirectHandler)? {
        attempt.request.record.withLock { $0.extras?.options.redirectHandler }
            ?? attempt.request.context.redirectHandler
    }

    private func ask(
        _ handler: any RedirectHandler,
        about proposal: URLRequest,
        for response: LazyResponse
    ) async -> Result<URLRequest?, CurlewError> {
        guard let lifted = response.value else { return .success(proposal) }
        let task = attempt.task
        do {
            let answer = try await attempt.request.foreign(
                ownsTask: attempt.rules.ownsTask, budget: attempt.budget, in: .redirect
            ) {
                await handler.task(task, willBeRedirectedTo: proposal, for: lifted)
            }
            if attempt.request.isCancelled { return .failure(attempt.request.cancellation) }
            return .success(answer)
        } catch {
            return .failure((error as? CurlewError) ?? attempt.request.cancellation)
        }
    }
}

extension DefaultHeaders {
    /// The same object where nothing of it has to go.
    func without(_ names: [String]) -> DefaultHeaders {
        guard names.contains(where: headers.contains(name:)) else { return self }
        var reduced = headers
        for name in names { reduced.remove(name: name) }
        return DefaultHeaders(reduced)
    }
}
