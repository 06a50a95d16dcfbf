internal import CurlewCore
internal import CurlewLocks

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
        /// The invalidation mark at the beginning of the fetch.
        let mark: UInt64
        var waiters: FetchWaiters?
    }

    private struct State: Sendable {
        var fetches: [CacheKey: UnderWay] = [:]
        var lastNumber: UInt64 = 0
        var storedCount: UInt64 = 0
        /// The keys of the latest stored responses; number `n` is at `n` modulo the count.
        var recent: [CacheKey?] = Array(repeating: nil, count: 64)

        func hasStored(_ key: CacheKey, since mark: UInt64) -> Bool {
            guard storedCount != mark else { return false }
            let count = UInt64(recent.count)
            return storedCount - mark > count || (mark..<storedCount).contains { recent[Int($0 % count)] == key }
        }
    }

    private let state = Lock(State())
    private let invalidations: InvalidationLog

    init(_ invalidations: InvalidationLog) { self.invalidations = invalidations }

    /// The number of fetches that have stored their response. Read it before asking the store.
    var storedCount: UInt64 { state.withLock { $0.storedCount } }

    /// Returns the role of a request. `mark` is `storedCount` before the store was asked.
    func join(_ asked: CacheRequest, since mark: UInt64) -> Role {
        let (role, outdated) = state.withLock { state -> (Role, FetchWaiters?) in
            let hasStored = state.hasStored(asked.key, since: mark)
            let next = UnderWay(fetch: SharedFetch(number: state.lastNumber + 1), mark: invalidations.mark)
            let (role, outdated) = Self.join(
                &state.fetches[asked.key],
                hasStored: hasStored,
                next,
                isOutdated: { invalidations.concerns(asked.key.url, since: $0) }
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
    func headArrived(of fetch: SharedFetch, for asked: CacheRequest) {
        let waiters = state.withLock { state -> FetchWaiters? in
            guard let underWay = state.fetches[asked.key], underWay.fetch == fetch else { return nil }
            let waiters = underWay.waiters ?? FetchWaiters()
            state.fetches[asked.key]?.waiters = waiters
            return waiters
        }
        waiters?.headArrived()
    }

    func bytesArrived(of fetch: SharedFetch, for asked: CacheRequest) {
        let waiters = state.withLock { state -> FetchWaiters? in
            guard let underWay = state.fetches[asked.key], underWay.fetch == fetch else { return nil }
            return underWay.waiters
        }
        waiters?.bytesArrived()
    }

    /// Ends the fetch for those that wait. A stored response must be in the store already. Only the first end counts.
    func end(_ fetch: SharedFetch, for asked: CacheRequest, _ end: SharedFetch.End) {
        let waiters = state.withLock { state -> FetchWaiters? in
            if case .stored = end {
                state.recent[Int(state.storedCount % UInt64(state.recent.count))] = asked.key
                state.storedCount += 1
            }
            return Self.remove(fetch, from: &state.fetches[asked.key])
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
