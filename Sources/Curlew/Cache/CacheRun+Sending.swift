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
        let requestTime = cache.clock()
        let storage = ResponseStorage(cache, request, asked, flight: flight, requestTime: requestTime)
        let cacheSink = CacheSink(sink, exchange: exchange, storage: storage) { [self] head in
            guard let stored else { return false }
            if head.status == 304 { return Validators(stored.entry.response.head.headers).areUsable }
            return Revalidation.isFailure(head.status) && allowsOnFailure(stored)
        }
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(adding(fields), sink: cacheSink)
        } catch {
            await storage.drop()
            exchange?.detach()
            if let stored, !cacheSink.hasForwarded, error.isServerFailure, allowsOnFailure(stored) {
                return try await serveInsteadOfFailure(stored, error)
            }
            await land(.failed)
            throw error
        }
        exchange?.detach()
        if let stored, case .withheld(let head) = cacheSink.fate {
            guard head.status == 304 else { return try await serveInsteadOfFailure(stored, nil) }
            return try await finish(validationOf: stored, with: outcome, requestTime)
        }
        await cache.invalidate(Invalidation(method: request.method, url: request.url, head: outcome.head))
        let isStored = await storage.finish()
        if !isStored { await removeReplaced(stored, by: outcome.head.status) }
        await land(isStored ? .stored : .notStored)
        return noted(outcome, status)
    }

    private func adding(_ fields: [HTTPHeader]) -> TransferRequest {
        var outgoing = request
        for field in fields { outgoing.headers.update(field) }
        return outgoing
    }

    private func noted(_ outcome: TransferOutcome, _ status: CacheStatus) -> TransferOutcome {
        cache.count(status)
        var outcome = outcome
        outcome.metrics.update { $0.cacheStatus = status }
        return outcome
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
        guard background != nil else {
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

    /// `error` is what the sink would get otherwise; nil where the server has answered with a failure.
    private mutating func serveInsteadOfFailure(
        _ stored: StoredEntry,
        _ error: CurlewError?
    ) async throws(CurlewError) -> TransferOutcome {
        await land(.failed)
        if background != nil, let served = try await serve(stored, .whole, .stale(.ifError)) { return served }
        if let error { throw error }
        // The server's own words were kept back: it has to say them again.
        return try await send(.miss, adding: [])
    }

    // MARK: What is not stored

    /// Sends the request, and draws from its response what that says about stored ones.
    mutating func pass(
        _ status: CacheStatus,
        adding fields: [HTTPHeader] = []
    ) async throws(CurlewError) -> TransferOutcome {
        let requestTime = cache.clock()
        let outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(adding(fields), sink: sink)
        } catch {
            // It may have taken effect all the same.
            if !request.method.isSafe { await cache.store.removeAll(url: asked.key.url) }
            throw error
        }
        await cache.invalidate(Invalidation(method: request.method, url: request.url, head: outcome.head))
        if request.method == .head, outcome.head.status == 200 { await update(with: outcome.head, requestTime) }
        return noted(outcome, status)
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

extension CurlewError {
    /// Whether the server could not be reached, or did not answer.
    fileprivate var isServerFailure: Bool { isConnectivity || (isTimeout && code != .queueTimedOut) }
}
