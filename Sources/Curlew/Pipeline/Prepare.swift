internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The request to send next: as users see it, and as the transport takes it. It is not changed once it has been sent: a
/// redirect or an answered challenge makes another one.
struct OutgoingRequest: Sendable {
    var snapshot: RequestSnapshot
    var transferRequest: TransferRequest
    var occasion = Occasion.followUp
    /// Set if this repeats a challenged request: the stored credentials of the session, which are added.
    var sessionCredentials: TransferAuthentication?

    /// Why a request is sent. Decides which events monitors receive.
    enum Occasion: Sendable {
        /// It is the first of its attempt. Neither its creation nor its exchange has been reported.
        case first
        /// It follows a redirect, or a challenge that the session's hook has answered, reported as a new exchange.
        case followUp
        /// It is sent again with stored credentials. To monitors this is one exchange, whose start they know, as if the
        /// transport had answered the challenge.
        case repetition

        var isFirst: Bool { if case .first = self { true } else { false } }
        var isRepetition: Bool { if case .repetition = self { true } else { false } }
    }
}

extension Run {
    /// Returns the first request of the attempt: described by the user, adapted, with its body, and built for the
    /// transport.
    func firstRequest() async throws(CurlewError) -> OutgoingRequest {
        if attempt.options.isCancelled { throw request.cancellation }
        var snapshot = try initialRequest()
        if !attempt.options.adapters.isEmpty { snapshot = try await adapt(snapshot) }
        var body: BodySource?
        if let bodyMaker = request.kind.bodyMaker {
            let made = try await bodyMaker.makeBody(for: request, events)
            // An earlier attempt may have read a body that can be read only once.
            let needsNewBody = attempt.number > 0 && request.replacesBodies
            body = needsNewBody ? try await bodyToSendAgain(made) : made
        }
        do throws(CurlewError) {
            let transfer = try transferRequest(for: snapshot, body: body)
            return OutgoingRequest(snapshot: snapshot, transferRequest: transfer, occasion: .first)
        } catch {
            // The request was created, although it cannot be sent.
            try request.reportCreation(of: snapshot, events)
            throw error
        }
    }

    /// Returns the request as the user described it, and adds it to the history.
    private func initialRequest() throws(CurlewError) -> RequestSnapshot {
        do {
            let context = request.context
            if events == nil, case .plain(let description) = request.kind.source,
                let plain = try description.asSnapshot(
                    keepsDotSegments: context.configuration.keepsDotSegments, resolved: resolved)
            {
                // A request with a separate body is never plain.
                request.addToHistory(plain)
                return plain
            }
            let made = try resolved(request.kind.source.urlRequest(of: request, in: self))
                .withoutDotSegments(in: context)
            try made.validate()
            let snapshot = RequestSnapshot.made(made)
            request.addToHistory(snapshot)
            events?.emit { [request] in $0.request(request, didCreateInitialURLRequest: made) }
            return snapshot
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emit { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.reportFailedCreation()
            throw failure
        }
    }
}

// MARK: The absolute URL

extension Run {
    /// Returns an absolute URL unchanged, and a relative one resolved against the endpoint that is chosen for this
    /// attempt, or the session's base URL. Throws if the endpoints or the base URL cannot be used.
    func resolved(_ url: URL) throws(CurlewError) -> URL {
        guard request.context.hasBase, url.scheme == nil, let base = try base(for: url) else { return url }
        return try base.resolve(url.absoluteString)
    }

    /// Returns a request with its URL resolved.
    func resolved(_ described: URLRequest) throws(CurlewError) -> URLRequest {
        guard request.context.hasBase, let url = described.url, url.scheme == nil else { return described }
        var request = described
        request.url = try resolved(url)
        return request
    }

    private func base(for url: URL) throws(CurlewError) -> BaseURL? {
        guard let control = try request.context.endpoints?.get() else { return try request.context.baseURL?.get() }
        // `//host/path` takes only the scheme, and either all endpoints use TLS or none.
        if url.host(percentEncoded: true)?.isEmpty == false { return control.bases[0] }
        // Checked before an endpoint is chosen: a timeout here is not its failure.
        try budget.checkTimeIsLeft(.queue)
        let used = endpoints ?? UsedEndpoints(control)
        endpoints = used
        return used.base()
    }

    /// Releases the endpoint if the adapters have changed the origin of the request, because another server will
    /// respond.
    private func releaseEndpoint(of described: URL?, ifUnusedBy adapted: URL?) {
        if let described, let adapted, RedirectLocation.isSameOrigin(described, adapted) { return }
        endpoints?.finish { _ in nil }
    }
}

// MARK: Adapting

extension Run {
    /// Returns the request as the adapters change it, one after the other.
    func adapt(_ initial: RequestSnapshot) async throws(CurlewError) -> RequestSnapshot {
        let given = initial.urlRequest
        let (adapters, state) = (attempt.options.adapters, RequestAdapterState(request: request, session: session))
        do {
            let adapted = try await callingUserCode(in: .adaptation) {
                var adapted = given
                for adapter in adapters { adapted = try await adapter.adapt(adapted, using: state) }
                return adapted
            }.withoutDotSegments(in: request.context)
            // A request that the adapters returned unchanged keeps its cheaper form.
            let snapshot = adapted.isCopy(of: given) ? initial : .made(adapted)
            if snapshot !== initial { try adapted.validate() }
            if endpoints != nil { releaseEndpoint(of: given.url, ifUnusedBy: adapted.url) }
            request.addToHistory(snapshot)
            events?.emit { [request] in $0.request(request, didAdaptInitialRequest: given, to: adapted) }
            return snapshot
        } catch {
            let timeout = (error as? CurlewError).flatMap { $0.code == .totalTimedOut ? $0 : nil }
            let failure = timeout ?? ErrorWrapping.adaptation(error)
            events?.emit { [request] in
                $0.request(request, didFailToAdaptURLRequest: given, withError: failure)
            }
            throw failure
        }
    }
}

// MARK: The transfer request

extension Run {
    /// Returns what the transport sends for a request, according to the current options. Below this step, only
    /// middleware and exchange adapters see a `URLRequest`.
    func transferRequest(for snapshot: RequestSnapshot, body: BodySource?) throws(CurlewError) -> TransferRequest {
        let own = request.record.withLock { $0.extras?.options }
        let builder = TransferRequestBuilder(context: request.context, own: own, purpose: request.kind.purpose)
        var transfer = try builder.build(
            snapshot, body: body, task: exchangeID, attempt: attempt.number, remaining: budget.remaining)
        // Skips the cache options when nothing can set them.
        if own != nil || snapshot.original != nil || request.context.configuration.cache != nil {
            try setCaching(of: snapshot, own, in: &transfer)
        }
        return transfer
    }
}

// MARK: The cache

extension Run {
    /// Sets `options.cache`, if the request, a handler or a monitor changes the session's caching.
    private func setCaching(
        of snapshot: RequestSnapshot,
        _ own: RequestOptions?,
        in transfer: inout TransferRequest
    ) throws(CurlewError) {
        let policy = own?.cachePolicy ?? snapshot.cachePolicy
        guard let cache = request.context.configuration.cache else {
            guard policy == .onlyStored else { return }
            throw CurlewError(
                .notInCache, phase: .creation, reason: "the session has no cache", url: transfer.url)
        }
        let handler = own?.cachedResponseHandler ?? request.context.cachedResponseHandler
        let listens = events?.wantsBodies == true
        guard policy != .useProtocol || handler != nil || listens else { return }
        var overrides = CacheOverrides(policy: policy)
        overrides.mustReview = handler != nil
        if handler != nil || listens {
            overrides.review = review(by: handler, inMemory: cache.store is MemoryCacheStore)
        }
        transfer.options.cache = overrides
    }

    /// Returns a closure that asks the handler, if there is one, about a response that may be stored, and notifies
    /// monitors of one that is about to be.
    private func review(by handler: (any CachedResponseHandler)?, inMemory isMemory: Bool) -> CacheOverrides.Review {
        { [weak request, events] sent, head, body, budget in
            let offered = CachedResponse(head: head, url: sent.url, data: body)
            var accepted: CachedResponse? = offered
            if let handler {
                accepted = await handler.review(offered, of: sent.identifier, for: request, within: budget)
            }
            guard let accepted, accepted.mayBeStored(inMemory: isMemory) else { return nil }
            if let request {
                let task = sent.identifier
                events?.emitStorage(of: accepted.data) {
                    $0.request(request, task: task, willCacheResponse: accepted)
                }
            }
            return accepted.stored(insteadOf: offered)
        }
    }
}

extension CachedResponseHandler {
    /// Asks the handler about a response. Returns `nil` if it refuses, or does not answer in time: the reader has the
    /// whole response, so a review that takes too long does not fail the request. The answer of a cancelled task counts.
    fileprivate func review(
        _ offered: CachedResponse,
        of task: TaskIdentifier,
        for request: Request?,
        within budget: TimeoutBudget
    ) async -> CachedResponse? {
        let answer = OneShot<CachedResponse?>()
        do throws(CurlewError) {
            try await budget.limitWait(.receive) {
                let ask = { await self.dataTask(task, willCacheResponse: offered) }
                let reviewed = if let request { await UserCode.call(for: request, ask) } else { await ask() }
                answer.resolve(reviewed)
            }
        } catch {
            return nil
        }
        return answer.value ?? nil
    }
}

extension RequestSnapshot {
    /// The cache policy of the `URLRequest`. Policies that differ only for remote caches are treated alike.
    fileprivate var cachePolicy: CachePolicy {
        guard let request = original else { return .useProtocol }
        switch request.cachePolicy {
        case .useProtocolCachePolicy: return .useProtocol
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .reload
        case .reloadRevalidatingCacheData: return .revalidate
        case .returnCacheDataElseLoad: return .preferStored
        case .returnCacheDataDontLoad: return .onlyStored
        @unknown default: return .useProtocol
        }
    }
}
