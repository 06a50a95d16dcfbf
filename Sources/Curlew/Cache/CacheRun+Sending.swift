internal import CurlewCore
internal import Foundation

extension CacheRun {
    /// Sends the request, and stores the response if that is allowed. `stored` is the stored response that a 304
    /// confirms.
    ///
    /// For most requests the response is neither stored nor affects stored ones. The run then ends without another
    /// wait.
    mutating func send(
        _ status: CacheStatus,
        adding fields: [HTTPHeader],
        validating stored: StoredEntry? = nil
    ) async throws(CurlewError) -> TransferOutcome {
        guard cacheRequest.method == .get, !cacheRequest.control.has("no-store") else {
            return try await pass(status, adding: fields)
        }
        // The stored response may be served in the end, so the sink must not hold the network's control.
        if stored != nil { _ = ownDelivery() }
        let withholding = stored.map { [self] stored in { withholds($0, for: stored) } }
        let cacheSink = CacheSink(self, requestTime: cache.clock(), withholds: withholding)
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(try outgoing(adding: fields), sink: cacheSink)
        } catch {
            await cacheSink.storage?.drop()
            delivery?.detach()
            if let stored, isFailureOfServer(error, cacheSink.fate), allowsOnFailure(stored) {
                if case .withheld(let response) = cacheSink.fate {
                    return try await serveInsteadOfFailure(stored, .brokenResponse(response.head, error))
                }
                return try await serveInsteadOfFailure(stored, .noResponse(error))
            }
            await endFetch(.failed)
            throw error
        }
        delivery?.detach()
        if let stored, case .withheld(let response) = cacheSink.fate {
            guard response.head.status == 304 else {
                return try await serveInsteadOfFailure(stored, .response(response, outcome))
            }
            return try await finish(validationOf: stored, with: outcome, cacheSink.requestTime)
        }
        if stored == nil, endWithoutWaiting(status, &outcome, cacheSink) { return outcome }
        await conclude(status, &outcome, cacheSink, validating: stored)
        return outcome
    }

    /// Ends the run without a wait if the response is not stored and does not affect stored ones. Returns whether it
    /// did.
    private mutating func endWithoutWaiting(
        _ status: CacheStatus,
        _ outcome: inout TransferOutcome,
        _ cacheSink: CacheSink
    ) -> Bool {
        guard cacheSink.storage == nil, cacheRequest.policy != .reload, !cache.storeMayWait, cacheRequest.method.isSafe,
            !cacheSink.mayInvalidate
        else { return false }
        if cacheSink.hasEndedFetch { fetch = nil } else { endFetchInProcess(.notStored) }
        setStatus(status, of: &outcome)
        return true
    }

    /// Concludes the run after the reader has received a complete response, which may have to be stored, or may affect
    /// stored ones.
    private mutating func conclude(
        _ status: CacheStatus,
        _ outcome: inout TransferOutcome,
        _ cacheSink: CacheSink,
        validating stored: StoredEntry?
    ) async {
        let invalidation = Invalidation(method: request.method, url: request.url, head: outcome.head)
        if invalidation != .none { await cache.invalidate(invalidation) }
        let isStored = await cacheSink.storage?.finish(within: budget) ?? false
        // A response that arrived later, and was stored meanwhile, must not be removed.
        if !isStored, cacheSink.storage?.isSuperseded != true {
            await removeReplaced(stored, by: outcome.head.status)
        }
        // Becoming outdated on the way does not mean that the next response cannot be stored, unless the response has
        // caused the invalidation itself.
        let isOutdated = invalidation == .none && cacheSink.storage?.isOutdated == true
        await endFetch(isStored ? .stored : isOutdated ? .abandoned : .notStored)
        setStatus(status, of: &outcome)
    }

    /// Whether a response must not reach the reader, because it concerns a stored one.
    private func withholds(_ head: ResponseHead, for stored: StoredEntry) -> Bool {
        if head.status == 304 { return Validators(stored.entry.response.head.headers).areUsable }
        return Revalidation.isFailure(head.status) && allowsOnFailure(stored)
    }

    private func outgoing(adding fields: [HTTPHeader]) throws(CurlewError) -> TransferRequest {
        var outgoing = request
        for field in fields { outgoing.headers.add(field) }
        // The network starts a new total timeout. It gets the time that waits and earlier exchanges have left.
        if let total = budget.total, let remaining = budget.remaining, total - remaining > .milliseconds(1) {
            guard remaining > .zero else {
                let error = CurlewError(
                    .totalTimedOut,
                    phase: .waiting,
                    reason: CurlewError.timeoutReason(.totalTimedOut, after: nil),
                    url: request.url,
                    isSafeToRetry: true
                )
                // A request that has waited for another one's response was not sent.
                throw otherFetchEnd == nil ? error : withoutExchange(error, .collapsed)
            }
            outgoing.options.timeouts.total = remaining
        }
        return outgoing
    }

    /// Whether the server could not be reached, did not answer, or has answered with a failure that was withheld. A
    /// withheld failure counts however its body ends, unless the request itself was ended.
    private func isFailureOfServer(_ error: CurlewError, _ fate: CacheSink.Fate) -> Bool {
        switch fate {
        case .none: error.isConnectivity || (error.isTimeout && error.code != .queueTimedOut)
        case .withheld(let response):
            response.head.status != 304 && !error.isCancellation && error.code != .sessionClosed
        case .forwarded: false
        }
    }

    private func setStatus(_ status: CacheStatus, of outcome: inout TransferOutcome) {
        cache.count(status)
        outcome.metrics.cacheStatus = status
    }

    /// Removes stored responses after a different response that is not stored (RFC 9111, 4.3.3). A 404 or 410 says that
    /// the resource does not exist. Other errors concern only the request or the server.
    private func removeReplaced(_ stored: StoredEntry?, by status: Int) async {
        guard (200..<300).contains(status) && status != 206 || status == 404 || status == 410 else { return }
        if let stored { await cache.store.remove(stored.entry) }
        if cacheRequest.policy == .reload { await cache.store.removeAll(url: cacheRequest.key.url) }
    }

    // MARK: Failures of the server

    /// The outcome of the request if the stored response cannot be served.
    private enum Failure {
        case noResponse(CurlewError)
        /// The response was withheld, and has broken off or is longer than what is kept.
        case brokenResponse(ResponseHead, CurlewError)
        /// The response was withheld. The outcome is that of its exchange.
        case response(ProvisionalResponse, TransferOutcome)

        /// What limits and circuits learn of it.
        var recorded: TransferMetrics.ExchangeBehindStored {
            switch self {
            case .noResponse(let error): .init(error: error, error.metrics)
            case .brokenResponse(let head, let error): .init(head: head, error: error, error.metrics)
            case .response(let response, let outcome): .init(head: response.head, outcome.metrics)
            }
        }
    }

    private mutating func serveInsteadOfFailure(
        _ stored: StoredEntry,
        _ failure: Failure
    ) async throws(CurlewError) -> TransferOutcome {
        await endFetch(.failed)
        if !isInBackground {
            do throws(CurlewError) {
                if var served = try await serve(stored, .whole, .stale(.ifError)) {
                    served.metrics.exchangeBehindStored = failure.recorded
                    return served
                }
            } catch {
                var error = error
                error.metrics?.exchangeBehindStored = failure.recorded
                throw error
            }
        }
        switch failure {
        case .noResponse(let error): throw error
        // The response has no reader.
        case .brokenResponse(_, let error) where isInBackground: throw error
        case .response(_, let outcome) where isInBackground: return outcome
        // Only a part of the response was kept, so the request is sent again.
        case .brokenResponse: return try await send(.miss, adding: [])
        case .response(let response, var outcome):
            let body = DataCacheBody(response.body)
            _ = try await deliver(response.head, await body.reader(of: 0..<body.size))
            setStatus(.miss, of: &outcome)
            return outcome
        }
    }

    // MARK: Requests whose responses are not stored

    /// Sends the request, and applies its response to stored ones.
    mutating func pass(
        _ status: CacheStatus,
        adding fields: [HTTPHeader] = []
    ) async throws(CurlewError) -> TransferOutcome {
        let requestTime = cache.clock()
        var outcome: TransferOutcome
        do throws(CurlewError) {
            outcome = try await network.perform(try outgoing(adding: fields), sink: sink)
        } catch {
            // The failed request may have taken effect on the server.
            if !request.method.isSafe { await cache.invalidate(.urls([cacheRequest.key.url])) }
            throw error
        }
        let invalidation = Invalidation(method: request.method, url: request.url, head: outcome.head)
        if invalidation != .none { await cache.invalidate(invalidation) }
        if request.method == .head, outcome.head.status == 200 {
            await update(with: outcome.head, requestTime)
        }
        setStatus(status, of: &outcome)
        return outcome
    }
}

// A 304 and a response to `HEAD` update the stored response, unless the result must not be stored.
extension CacheRun {
    /// Applies a 304, which was withheld from the reader.
    private mutating func finish(
        validationOf stored: StoredEntry,
        with outcome: TransferOutcome,
        _ requestTime: Date
    ) async throws(CurlewError) -> TransferOutcome {
        guard !Self.isOfAnotherVersion(outcome.head, than: stored.entry) else {
            await cache.store.remove(stored.entry)
            // The server has to send the version that it means. Requests that wait for this one keep waiting.
            if !isInBackground { return try await send(.miss, adding: []) }
            await endFetch(.notStored)
            return outcome
        }
        var fresh = stored
        fresh.entry = updated(stored.entry, with: outcome.head, requestTime)
        let stays = mayStay(fresh.entry)
        if stays { await cache.store.update(fresh.entry) } else { await cache.store.remove(stored.entry) }
        await endFetch(stays ? .stored : .notStored)
        guard !isInBackground else {
            cache.count(.revalidated)
            return outcome
        }
        // The response is served even if it is not kept: it answers this request.
        if let served = try await serve(fresh, .whole, .revalidated, validation: outcome) { return served }
        return try await send(.miss, adding: [])
    }

    /// Updates the stored response with a response to `HEAD`, or removes it if that is about another version (RFC 9111,
    /// 4.3.5).
    private func update(with head: ResponseHead, _ requestTime: Date) async {
        let entries = await cache.store.entries(for: cacheRequest.key)
        guard let found = Variants.select(entries, for: cacheRequest, digest: CacheDigest.name),
            found.entry.response.head.status == 200
        else { return }
        let entry = found.entry
        guard Revalidation.isSame(entry.response, as: head, bodySize: found.body.size) else {
            await cache.store.remove(entry)
            return
        }
        // This response must not be stored. The stored one stays as it is.
        guard !cacheRequest.control.has("no-store"), !cacheRequest.hasPrecondition else { return }
        let new = updated(entry, with: head, requestTime)
        if mayStay(new) { await cache.store.update(new) } else { await cache.store.remove(entry) }
    }

    private func updated(_ entry: CacheEntry, with head: ResponseHead, _ requestTime: Date) -> CacheEntry {
        var entry = entry
        entry.response = Revalidation.updated(
            entry.response, with: head, requestTime: requestTime, responseTime: cache.clock(), mode: cache.mode)
        let canBeValidated = Validators(entry.response.head.headers).areUsable
        entry.lifetime = Freshness(entry.response, mode: cache.mode).cacheLifetime(canBeValidated: canBeValidated)
        return entry
    }

    /// Whether an entry with new fields might be stored as a response to this request, and is still the same variant.
    private func mayStay(_ entry: CacheEntry) -> Bool {
        let head = entry.response.head
        return Variants.fields(of: head.headers) == entry.varyingFields
            && Storability.mayStay(head, for: cacheRequest, mode: cache.mode)
    }

    /// Whether a 304 names another version than the stored one, by a strong tag (RFC 9111, 4.3.4).
    private static func isOfAnotherVersion(_ head: ResponseHead, than entry: CacheEntry) -> Bool {
        guard let new = Validators(head.headers).entityTag,
            let old = Validators(entry.response.head.headers).entityTag,
            !new.hasPrefix("W/"), !old.hasPrefix("W/")
        else { return false }
        return new != old
    }
}

/// The sink between the network and a reader. It withholds responses that concern only the cache, and stores others
/// while it passes them on.
// SAFETY: ownership is handed over, as for the reader's: only the network's thread accesses it from `perform`'s start
// to its return, only the cache's task before and after.
final class CacheSink: TransferSink, @unchecked Sendable {
    /// The fate of the response.
    enum Fate {
        /// No head has arrived.
        case none
        /// The response was passed to the reader.
        case forwarded
        /// The response was withheld, because the stored one is to be served.
        case withheld(ProvisionalResponse)
    }

    private let reader: any TransferSink
    /// The control that the reader has already; `nil` if it gets the network's.
    private let delivery: ResponseDelivery?
    private let request: TransferRequest
    private let cacheRequest: CacheRequest
    private let context: CacheContext
    /// The fetch that the request leads. It ends with a head that cannot be shared.
    private let fetch: SharedFetch?
    /// Whether a head concerns only the cache. `nil` if no stored response is being validated.
    private let withholds: ((ResponseHead) -> Bool)?
    let requestTime: Date
    /// The number of invalidations when the request began (`InvalidationLog`).
    private let mark: UInt64
    private var control: (any TransferControl)?
    private(set) var fate = Fate.none
    /// `nil` if the response is not stored.
    private(set) var storage: ResponseStorage?
    /// Whether the response may invalidate stored ones, as far as its head tells.
    private(set) var mayInvalidate = true
    /// Whether the fetch has ended with the head, because the response cannot be shared.
    private(set) var hasEndedFetch = false

    /// Creates the sink for the request of a run, with the run's state at this moment.
    init(_ run: borrowing CacheRun, requestTime: Date, withholds: ((ResponseHead) -> Bool)? = nil) {
        reader = run.sink
        delivery = run.delivery
        request = run.request
        cacheRequest = run.cacheRequest
        context = run.context
        fetch = run.fetch
        self.requestTime = requestTime
        mark = run.context.cache.invalidations.mark
        self.withholds = withholds
    }

    func willStart(_ control: any TransferControl) {
        self.control = control
        if let delivery { delivery.attach(control) } else { reader.willStart(control) }
    }

    func didReceive(informational head: ResponseHead) { reader.didReceive(informational: head) }

    func didReceive(head: ResponseHead) -> Disposition {
        if withholds?(head) == true {
            headArrived()
            fate = .withheld(ProvisionalResponse(head, .validation))
            return .proceed
        }
        fate = .forwarded
        let fields = ResponseCacheFields(head.headers)
        mayInvalidate = fields.mayClear
        if Storability.isStorable(head, fields, for: cacheRequest, mode: context.cache.mode),
            Variants.canTell(cacheRequest, from: head)
        {
            headArrived()
            storage = ResponseStorage(
                head,
                of: request,
                cacheRequest,
                over: context,
                requestTime: requestTime,
                mark: mark,
                fetch: fetch,
                control: control
            )
        } else if let fetch {
            context.fetches.end(fetch, for: cacheRequest, .notStored)
            fetch.claim?.giveUp()
            hasEndedFetch = true
        }
        return reader.didReceive(head: head)
    }

    private func headArrived() {
        if let fetch { context.fetches.headArrived(of: fetch, for: cacheRequest) }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        if case .withheld(var response) = fate {
            // Moved out of `fate` meanwhile. With two owners, appending would copy the body.
            fate = .none
            defer { fate = .withheld(response) }
            do throws(CurlewError) { try response.keep(body) } catch { return .abort(error) }
            return .proceed
        }
        guard let storage, storage.isStoring else { return reader.didReceive(body: body) }
        // The store cannot keep up. Its writing task resumes the network.
        if storage.isFull { return .pause }
        let disposition = reader.didReceive(body: body)
        if case .proceed = disposition { storage.take(body) }
        return disposition
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) { reader.didSend(bodyBytes: bodyBytes, of: expected) }
}

/// Discards the response to a background validation, which has no reader.
final class BackgroundSink: TransferSink {
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
