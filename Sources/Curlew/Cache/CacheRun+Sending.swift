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
        await cache.invalidate(Invalidation(method: request.method, url: request.url, head: outcome.head))
        let isStored = await cacheSink.storage?.finish() ?? false
        if !isStored { await removeReplaced(stored, by: outcome.head.status) }
        await land(isStored ? .stored : .notStored)
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
                    reason: "the request exceeded its total timeout",
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

    /// The server has sent another response, which is not to be stored: what was stored is not right any more.
    private func removeReplaced(_ stored: StoredEntry?, by status: Int) async {
        guard (200..<300).contains(status), status != 206 else { return }
        if let stored { await cache.store.remove(stored.entry) }
        if asked.policy == .reload { await cache.store.removeAll(url: asked.key.url) }
    }

    // MARK: Validation

    private mutating func finish(
        validationOf stored: StoredEntry,
        with outcome: TransferOutcome,
        _ requestTime: Date
    ) async throws(CurlewError) -> TransferOutcome {
        var fresh = stored
        fresh.entry = updated(stored.entry, with: outcome.head, requestTime)
        await cache.store.update(fresh.entry)
        await land(.stored)
        guard !isInBackground else {
            cache.count(.revalidated)
            return outcome
        }
        if let served = try await serve(fresh, .whole, .revalidated, news: outcome) { return served }
        return try await send(.miss, adding: [])
    }

    private func updated(_ entry: CacheEntry, with head: ResponseHead, _ requestTime: Date) -> CacheEntry {
        var entry = entry
        entry.response = Revalidation.updated(
            entry.response, with: head, requestTime: requestTime, responseTime: cache.clock(), mode: cache.mode)
        let canBeValidated = Validators(entry.response.head.headers).areUsable
        entry.lifetime = Freshness(entry.response, mode: cache.mode).cacheLifetime(canBeValidated: canBeValidated)
        return entry
    }

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
            if !request.method.isSafe { await cache.store.removeAll(url: asked.key.url) }
            throw error
        }
        let invalidation = Invalidation(method: request.method, url: request.url, head: outcome.head)
        if invalidation != .none { await cache.invalidate(invalidation) }
        if request.method == .head, outcome.head.status == 200 { await update(with: outcome.head, requestTime) }
        note(status, in: &outcome)
        return outcome
    }

    /// A response to `HEAD` says what is stored of the same version, or that it is another (RFC 9111, 4.3.5).
    private func update(with head: ResponseHead, _ requestTime: Date) async {
        let found = Variants.select(await cache.store.entries(for: asked.key), for: asked, digest: CacheDigest.name)
        guard let entry = found?.entry, entry.response.head.status == 200 else { return }
        if Revalidation.isSame(entry.response, as: head) {
            await cache.store.update(updated(entry, with: head, requestTime))
        } else {
            await cache.store.remove(entry)
        }
    }
}
