internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// Of many simultaneous requests for one response only the leader is sent. The others wait for the end of its fetch.
//
//     CacheRun ─▶ join ─┬─ lead ───────▶ claim, if processes share the store ─▶ sent ─▶ ends the fetch
//                       ├─ wait ───────▶ the leader's fetch ends ─┬─ stored ────────────▶ ask the store again
//                       │                                         ├─ notStored ─────────▶ sent, and joins no more
//                       │                                         └─ failed, abandoned ─▶ ask the store and join again
//                       └─ lookAgain ──▶ ask the store again
//
// A request asks the store at most four times, and is then sent. After `failed`, a stale response may be served.
//
// `SharedFetches` knows the fetches under way. The steps of a request among them are the extensions of `CacheRun` at
// the end of this file.

/// The fetch of a response that others may wait for. Of several requests for one key, only the leader is sent.
struct SharedFetch: Sendable, Equatable {
    enum End: Sendable {
        /// The response is in the store.
        case stored
        /// The response cannot be shared: waiting requests are sent themselves.
        case notStored
        /// There is no response: the next waiting request may try.
        case failed
        /// The response made no progress for a long time, perhaps because its own reader has paused, or it became
        /// outdated on its way. The next waiting request may try, as after `failed`, but no server has failed.
        case abandoned
    }

    fileprivate let number: UInt64
    /// The claim, if the store was asked whether this process may send the request.
    var claim: CacheClaim?

    fileprivate init(number: UInt64) { self.number = number }

    static func == (lhs: SharedFetch, rhs: SharedFetch) -> Bool { lhs.number == rhs.number }
}

/// The requests that wait for a fetch. Created on demand, because nobody waits for most fetches.
final class FetchWaiters: Sendable {
    private struct State: Sendable {
        var end: SharedFetch.End?
        /// The time of the last bytes of the response; `nil` before its head.
        var lastBytes: ContinuousClock.Instant?
        var waiters: [OneShot<Bool>] = []
    }

    private let state = Lock(State())

    var end: SharedFetch.End? { state.withLock { $0.end } }
    var lastBytes: ContinuousClock.Instant? { state.withLock { $0.lastBytes } }

    /// Records the head of the response. Wakes the waiting requests, whose time limits change with it.
    fileprivate func headArrived() {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            state.lastBytes = .now
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Records bytes of the body, if requests wait. A request that begins to wait later counts from that moment.
    fileprivate func bytesArrived() {
        state.withLock { state in
            if !state.waiters.isEmpty { state.lastBytes = .now }
        }
    }

    /// Ends the fetch. Only the first end counts.
    func end(_ end: SharedFetch.End) {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            guard state.end == nil else { return [] }
            state.end = end
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Adds a waiter, which is resolved once: at the head or at the end of the fetch.
    func add(_ waiter: OneShot<Bool>) {
        let isOver = state.withLock { state in
            if state.end == nil { state.waiters.append(waiter) }
            return state.end != nil
        }
        if isOver { waiter.resolve(true) }
    }
}

/// The fetches under way. Of many requests for one response, only one is sent.
final class SharedFetches: Sendable {
    /// The role of a request that asks for a response.
    enum Role {
        /// This request is the one to send. It has to end the fetch.
        case lead(SharedFetch)
        /// Another request is under way.
        case wait(for: FetchWaiters)
        /// A fetch has stored its response since the store was asked.
        case lookAgain
    }

    private struct UnderWay: Sendable {
        let fetch: SharedFetch
        /// The number of invalidations when the fetch began (`InvalidationLog`).
        let mark: UInt64
        var waiters: FetchWaiters?
    }

    private struct State: Sendable {
        var fetches: [CacheKey: UnderWay] = [:]
        var lastNumber: UInt64 = 0
        var storedCount: UInt64 = 0
        /// The keys of the latest stored responses; number `n` is at `n` modulo the count.
        var recent: [CacheKey?] = Array(repeating: nil, count: 64)

        func hasStored(_ key: CacheKey, since seen: UInt64) -> Bool {
            guard storedCount != seen else { return false }
            let count = UInt64(recent.count)
            return storedCount - seen > count || (seen..<storedCount).contains { recent[Int($0 % count)] == key }
        }
    }

    private let state = Lock(State())
    private let invalidations: InvalidationLog

    init(_ invalidations: InvalidationLog) { self.invalidations = invalidations }

    /// The number of fetches that have stored their response. Read it before asking the store.
    var storedCount: UInt64 { state.withLock { $0.storedCount } }

    /// Returns the role of a request. `seen` is `storedCount` before the store was asked.
    func join(_ cacheRequest: CacheRequest, since seen: UInt64) -> Role {
        let (role, outdated) = state.withLock { state -> (Role, FetchWaiters?) in
            let hasStored = state.hasStored(cacheRequest.key, since: seen)
            let next = UnderWay(fetch: SharedFetch(number: state.lastNumber + 1), mark: invalidations.mark)
            let (role, outdated) = Self.join(
                &state.fetches[cacheRequest.key],
                hasStored: hasStored,
                next,
                isOutdated: { invalidations.concerns(cacheRequest.key.url, since: $0) }
            )
            if case .lead = role { state.lastNumber = next.fetch.number }
            return (role, outdated)
        }
        // The response of the outdated fetch will not be stored. One of those that wait may lead the next fetch.
        outdated?.end(.abandoned)
        return role
    }

    /// Joins the key's fetch or replaces it. Returns those that wait for an outdated fetch, which the caller ends
    /// outside the lock.
    private static func join(
        _ current: inout UnderWay?,
        hasStored: Bool,
        _ next: UnderWay,
        isOutdated: (UInt64) -> Bool
    ) -> (Role, FetchWaiters?) {
        var outdated: FetchWaiters?
        if let underWay = current {
            if underWay.mark != next.mark, isOutdated(underWay.mark) {
                outdated = underWay.waiters
                current = nil
            } else {
                let waiters = underWay.waiters ?? FetchWaiters()
                if waiters.end == nil {
                    current?.waiters = waiters
                    return (.wait(for: waiters), nil)
                }
            }
        }
        if hasStored { return (.lookAgain, outdated) }
        current = next
        return (.lead(next.fetch), outdated)
    }

    /// Records the head of a response that others may use. Creates `FetchWaiters`, because requests that join later
    /// must know of the head.
    func headArrived(of fetch: SharedFetch, for cacheRequest: CacheRequest) {
        let waiters = state.withLock { state -> FetchWaiters? in
            guard let underWay = state.fetches[cacheRequest.key], underWay.fetch == fetch else { return nil }
            let waiters = underWay.waiters ?? FetchWaiters()
            state.fetches[cacheRequest.key]?.waiters = waiters
            return waiters
        }
        waiters?.headArrived()
    }

    func bytesArrived(of fetch: SharedFetch, for cacheRequest: CacheRequest) {
        let waiters = state.withLock { state -> FetchWaiters? in
            guard let underWay = state.fetches[cacheRequest.key], underWay.fetch == fetch else { return nil }
            return underWay.waiters
        }
        waiters?.bytesArrived()
    }

    /// Ends the fetch for those that wait. A stored response must be in the store already. Only the first end counts.
    func end(_ fetch: SharedFetch, for cacheRequest: CacheRequest, _ end: SharedFetch.End) {
        let waiters = state.withLock { state -> FetchWaiters? in
            if case .stored = end {
                state.recent[Int(state.storedCount % UInt64(state.recent.count))] = cacheRequest.key
                state.storedCount += 1
            }
            return Self.remove(fetch, from: &state.fetches[cacheRequest.key])
        }
        waiters?.end(end)
    }

    private static func remove(_ fetch: SharedFetch, from current: inout UnderWay?) -> FetchWaiters? {
        guard let underWay = current, underWay.fetch == fetch else { return nil }
        current = nil
        return underWay.waiters
    }
}

/// This process's claim to send the request for a key, if several processes share a store. The store is notified once,
/// when the claim is over.
final class CacheClaim: Sendable {
    private struct State: Sendable {
        var isOver = false
        var telling: ExchangeTask?
    }

    private let store: any CacheStore
    private let key: CacheKey
    private let state = Lock(State())

    init(of key: CacheKey, from store: any CacheStore) { (self.key, self.store) = (key, store) }

    /// Ends the claim because nothing will be stored: other processes need not wait until the response is complete.
    /// Does not wait for the store, because the caller may be the network's thread.
    func giveUp() {
        state.withLock { [store, key] state in
            guard !state.isOver else { return }
            state.isOver = true
            let telling = ExchangeTask()
            telling.start { await store.fetchEnded(of: key, stored: false) }
            state.telling = telling
        }
    }

    /// Ends the claim with the request. Returns when the store has been notified.
    func end(stored: Bool) async {
        let (wasOver, telling) = state.withLock { state in
            defer { state.isOver = true }
            return (state.isOver, state.telling)
        }
        if wasOver { await telling?.wait() } else { await store.fetchEnded(of: key, stored: stored) }
    }
}

// MARK: - A request among equal ones

extension CacheRun {
    /// Joins the requests for one response, or leads them. Returns the role in which the request has to wait before it
    /// is sent. `nil` if it is sent at once: it leads and needs no claim from the store, or it does not join. `seen` is
    /// the value of `SharedFetches.storedCount` before the store was asked.
    mutating func roleToWaitIn(since seen: UInt64, mayWait: Bool) -> SharedFetches.Role? {
        guard cacheRequest.isPlain, cache.collapsesRequests, mayWait, !isInBackground, otherFetchEnd != .notStored
        else { return nil }
        let role = fetches.join(cacheRequest, since: seen)
        guard case .lead(let led) = role, !cache.storeMayWait else { return role }
        fetch = led
        return nil
    }

    /// Waits until the request can be sent, or the store has to be asked again: then returns `false`.
    mutating func wait(in role: SharedFetches.Role) async throws(CurlewError) -> Bool {
        switch role {
        case .lookAgain: return false
        case .lead(let led):
            // No other request of this process leads, but another process may have sent one.
            do throws(CurlewError) {
                guard try await claim() else {
                    // Another process has stored the response.
                    fetches.end(led, for: cacheRequest, .stored)
                    return false
                }
            } catch {
                fetches.end(led, for: cacheRequest, .failed)
                throw error
            }
            var claimed = led
            claimed.claim = CacheClaim(of: cacheRequest.key, from: cache.store)
            fetch = claimed
            return true
        case .wait(let other):
            let end = try await end(of: other)
            otherFetchEnd = end
            return end == .notStored
        }
    }

    /// Ends the fetch that this request leads, and its claim.
    mutating func endFetch(_ end: SharedFetch.End) async {
        let claim = fetch?.claim
        endFetchInProcess(end)
        await claim?.end(stored: end == .stored)
    }

    /// Ends the fetch that this request leads, if there is no claim.
    mutating func endFetchInProcess(_ end: SharedFetch.End) {
        guard let ended = fetch else { return }
        fetch = nil
        fetches.end(ended, for: cacheRequest, end)
    }
}

// Waits for another request's fetch, or for the store's claim. The reader and the time limits of the request can end
// both waits.
extension CacheRun {
    /// Waits for the end of a fetch that another request leads.
    private mutating func end(of other: FetchWaiters) async throws(CurlewError) -> SharedFetch.End {
        let delivery = ownDelivery()
        let timeouts = WaiterTimeouts(request.options.timeouts, remaining: budget.remaining, joined: .now)
        while true {
            if let end = other.end { return end }
            let limit = timeouts.limit(lastBytes: other.lastBytes)
            if let limit, limit.instant <= .now {
                guard limit.verdict == .stalled else { throw timeout(limit.verdict) }
                // One of the waiting requests leads the next fetch.
                other.end(.abandoned)
                continue
            }
            let event = OneShot<Bool>()
            other.add(event)
            try await wait(on: delivery, for: event, until: limit?.instant)
        }
    }

    /// Waits until the store lets this process send the request. Returns `false` if another process has stored the
    /// response.
    private mutating func claim() async throws(CurlewError) -> Bool {
        let (store, key) = (cache.store, cacheRequest.key)
        let delivery = ownDelivery()
        let timeouts = WaiterTimeouts(request.options.timeouts, remaining: budget.remaining, joined: .now)
        let limit = timeouts.limit(lastBytes: nil)
        let (event, answer) = (OneShot<Bool>(), OneShot<Bool>())
        var error = await withTaskGroup(of: Void.self) { [self] group -> CurlewError? in
            group.addTask {
                answer.resolve(await store.claimFetch(of: key))
                event.resolve(true)
            }
            defer { group.cancelAll() }
            do throws(CurlewError) {
                try await wait(on: delivery, for: event, until: limit?.instant)
                return nil
            } catch {
                return error
            }
        }
        let isOurs = answer.value ?? true
        if error == nil, event.value == false, limit?.verdict == .totalTimedOut { error = timeout(.totalTimedOut) }
        guard let error else { return isOurs }
        if isOurs { await store.fetchEnded(of: key, stored: false) }
        throw error
    }

    /// Returns at the event or at the deadline. Throws the error with which the request was ended.
    private func wait(
        on delivery: ResponseDelivery,
        for event: OneShot<Bool>,
        until deadline: ContinuousClock.Instant?
    ) async throws(CurlewError) {
        let hasArrived = await withTaskGroup(of: Void.self) { group in
            if let deadline {
                group.addTask {
                    _ = await CancellableSleep.wait(until: deadline)
                    event.resolve(false)
                }
            }
            let hasArrived = await delivery.wait(for: event) != nil
            group.cancelAll()
            return hasArrived
        }
        if let ending = delivery.ending { throw ending }
        if !hasArrived { throw CurlewError(.cancelled, phase: .waiting, url: request.url) }
    }

    private func timeout(_ verdict: WaiterTimeouts.Verdict) -> CurlewError {
        let error = CurlewError(
            verdict == .totalTimedOut ? .totalTimedOut : .firstByteTimedOut,
            phase: .waiting,
            reason: "the response to the same request, which was sent before, did not come in time",
            url: request.url,
            isSafeToRetry: true
        )
        return withoutExchange(error, .collapsed)
    }
}
