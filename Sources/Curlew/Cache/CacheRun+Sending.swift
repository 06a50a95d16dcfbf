internal import CurlewCore
internal import Foundation

extension CacheRun {
    /// Sends the request, and stores its response where that is allowed. A stored response may be validated by it.
    mutating func send(
        _ status: CacheStatus,
        adding fields: [HTTPHeader],
        validating stored: StoredEntry? = nil
    ) async throws(CurlewError) -> TransferOutcome {
        guard asked.method == .get, !asked.control.has("no-store") else {
            return try await pass(status, adding: fields)
        }
        // What the sink is told may come from the store in the end: it must not hold on to the network.
        if stored != nil { _ = ownExchange() }
        let withholding = stored.map { [self] stored in { withholds($0, for: stored) } }
        let cacheSink = CacheSink(self, requestTime: cache.clock(), withholds: withholding)
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(try outgoing(adding: fields), sink: cacheSink)
        } catch {
            await cacheSink.storage?.drop()
            exchange?.detach()
            if let stored, isFailureOfServer(error, cacheSink.fate), allowsOnFailure(stored) {
                if case .withheld = cacheSink.fate {
                    return try await serveInsteadOfFailure(stored, .answer(.failure(error)))
                }
                return try await serveInsteadOfFailure(stored, .noAnswer(error))
            }
            await land(.failed)
            throw error
        }
        exchange?.detach()
        if let stored, case .withheld(let head) = cacheSink.fate {
            guard head.status == 304 else { return try await serveInsteadOfFailure(stored, .answer(.success(outcome))) }
            return try await finish(validationOf: stored, with: outcome, cacheSink.requestTime)
        }
        if stored == nil, isOver(status, &outcome, cacheSink) { return outcome }
        await conclude(status, &outcome, cacheSink, validating: stored)
        return outcome
    }

    /// Most of what is not stored concerns nothing that is: then there is nothing to wait for.
    mutating func isOver(_ status: CacheStatus, _ outcome: inout TransferOutcome, _ cacheSink: CacheSink) -> Bool {
        guard cacheSink.storage == nil, asked.policy != .reload, !cache.storeMayWait, asked.method.isSafe,
            !cacheSink.mayInvalidate
        else { return false }
        if cacheSink.hasLanded { flight = nil } else { landInProcess(.notStored) }
        note(status, in: &outcome)
        return true
    }

    /// The reader has got a whole response, which may be to be stored, or may say something of what is.
    mutating func conclude(
        _ status: CacheStatus,
        _ outcome: inout TransferOutcome,
        _ cacheSink: CacheSink,
        validating stored: StoredEntry? = nil
    ) async {
        let invalidation = Invalidation(method: request.method, url: request.url, head: outcome.head)
        if invalidation != .none { await cache.invalidate(invalidation) }
        let isStored = await cacheSink.storage?.finish() ?? false
        // A response that came later, and was stored meanwhile, is no reason to remove it.
        if !isStored, cacheSink.storage?.isSuperseded != true {
            await removeReplaced(stored, by: outcome.head.status)
        }
        // What became out of date on its way says nothing of the next response, unless it is the one that said so itself.
        let isOutdated = invalidation == .none && cacheSink.storage?.isOutdated == true
        await land(isStored ? .stored : isOutdated ? .stalled : .notStored)
        note(status, in: &outcome)
    }

    /// The request has failed.
    mutating func abandon(_ storage: ResponseStorage?) async {
        await storage?.drop()
        await land(.failed)
    }

    /// Whether a response concerns the cache alone, because it is about a stored one.
    private func withholds(_ head: ResponseHead, for stored: StoredEntry) -> Bool {
        if head.status == 304 { return Validators(stored.entry.response.head.headers).areUsable }
        return Revalidation.isFailure(head.status) && allowsOnFailure(stored)
    }

    private func outgoing(adding fields: [HTTPHeader]) throws(CurlewError) -> TransferRequest {
        var outgoing = request
        for field in fields { outgoing.headers.update(field) }
        // The network's total clock begins anew. What a wait or a first try has used up is gone.
        if let total = budget.total, let remaining = budget.remaining, total - remaining > .milliseconds(1) {
            guard remaining > .zero else {
                throw CurlewError(
                    .totalTimedOut,
                    phase: .waiting,
                    reason: CurlewError.timeoutReason(.totalTimedOut, after: nil),
                    url: request.url,
                    isSafeToRetry: true
                )
            }
            outgoing.options.timeouts.total = remaining
        }
        return outgoing
    }

    /// Whether the server could not be reached, did not answer, or has answered with a failure that was to be kept back:
    /// how that ends makes no difference, unless it is the request that was ended.
    private func isFailureOfServer(_ error: CurlewError, _ fate: CacheSink.Fate) -> Bool {
        switch fate {
        case .none: error.isConnectivity || (error.isTimeout && error.code != .queueTimedOut)
        case .withheld(let head): head.status != 304 && !error.isCancellation && error.code != .sessionClosed
        case .forwarded: false
        }
    }

    private func note(_ status: CacheStatus, in outcome: inout TransferOutcome) {
        cache.count(status)
        outcome.metrics.cacheStatus = status
    }

    /// The server has sent another response, which is not to be stored: what was stored is not right any more (RFC 9111,
    /// 4.3.3). A 404 or 410 says that there is no such resource. Other errors say something of the request or of the server.
    private func removeReplaced(_ stored: StoredEntry?, by status: Int) async {
        guard (200..<300).contains(status) && status != 206 || status == 404 || status == 410 else { return }
        if let stored { await cache.store.remove(stored.entry) }
        if asked.policy == .reload { await cache.store.removeAll(url: asked.key.url) }
    }

    // MARK: Failures of the server

    /// What becomes of the request if there is no stored response any more.
    private enum Failure {
        case noAnswer(CurlewError)
        /// It was kept back, and this is how it ended.
        case answer(Result<TransferOutcome, CurlewError>)
    }

    private mutating func serveInsteadOfFailure(
        _ stored: StoredEntry,
        _ failure: Failure
    ) async throws(CurlewError) -> TransferOutcome {
        await land(.failed)
        if !isInBackground, let served = try await serve(stored, .whole, .stale(.ifError)) { return served }
        switch failure {
        case .noAnswer(let error): throw error
        // Nothing reads it.
        case .answer(let result) where isInBackground: return try result.get()
        // The server has to say it again.
        case .answer: return try await send(.miss, adding: [])
        }
    }

    // MARK: What is not stored

    /// Sends the request, and draws from its response what that says about stored ones.
    mutating func pass(
        _ status: CacheStatus,
        adding fields: [HTTPHeader] = []
    ) async throws(CurlewError) -> TransferOutcome {
        let requestTime = cache.clock()
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(try outgoing(adding: fields), sink: sink)
        } catch {
            // It may have taken effect all the same.
            if !request.method.isSafe { await cache.invalidate(.urls([asked.key.url])) }
            throw error
        }
        let invalidation = Invalidation(method: request.method, url: request.url, head: outcome.head)
        if invalidation != .none { await cache.invalidate(invalidation) }
        if request.method == .head, outcome.head.status == 200 {
            await update(with: outcome.head, requestTime)  // CacheRun+Validating.swift
        }
        note(status, in: &outcome)
        return outcome
    }
}
