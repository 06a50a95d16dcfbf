internal import CurlewCore
internal import CurlewLocks

/// A request whose response others may wait for. Of several requests for the same key, it is the one that is sent.
struct CacheFlight: Sendable, Equatable {
    enum End: Sendable {
        /// The response is in the store.
        case stored
        /// The response cannot be shared: waiting requests are sent themselves.
        case notStored
        /// There is no response: the next waiting request may try.
        case failed
        /// The response made no progress for a long time, perhaps because its own reader has paused, or it became
        /// outdated on its way. The next waiting request may try, as after `failed`, but no server has failed.
        case stalled
    }

    fileprivate let number: UInt64
    /// The claim, if the store was asked whether this process may send the request.
    var claim: CacheClaim?

    fileprivate init(number: UInt64) { self.number = number }

    static func == (lhs: CacheFlight, rhs: CacheFlight) -> Bool { lhs.number == rhs.number }
}

/// The requests that wait for a flight. Created on demand, because most flights have none.
final class CacheFollowers: Sendable {
    private struct State: Sendable {
        var end: CacheFlight.End?
        /// The time of the last bytes of the response; `nil` before its head.
        var lastHeard: ContinuousClock.Instant?
        var waiters: [OneShot<Bool>] = []
    }

    private let state = Lock(State())

    var end: CacheFlight.End? { state.withLock { $0.end } }
    var lastHeard: ContinuousClock.Instant? { state.withLock { $0.lastHeard } }

    /// Records the head of the response. Wakes the waiting requests, whose time limits change with it.
    fileprivate func headCame() {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            state.lastHeard = .now
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Records bytes of the body, if requests wait. A request that begins to wait later counts from that moment.
    fileprivate func bytesCame() {
        state.withLock { state in
            if !state.waiters.isEmpty { state.lastHeard = .now }
        }
    }

    /// Ends the flight. Only the first end counts.
    func end(_ end: CacheFlight.End) {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            guard state.end == nil else { return [] }
            state.end = end
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Adds a waiter, which is resolved once: at the head or at the end of the flight.
    func add(_ waiter: OneShot<Bool>) {
        let isOver = state.withLock { state in
            if state.end == nil { state.waiters.append(waiter) }
            return state.end != nil
        }
        if isOver { waiter.resolve(true) }
    }
}

/// The responses under way. Of many requests for one response, only one is sent.
final class CacheFlights: Sendable {
    enum Joining {
        /// This request is the one to send. It has to land the flight.
        case lead(CacheFlight)
        /// Another request is under way.
        case follow(CacheFollowers)
        /// A flight has landed since the store was asked: its response may be in the store.
        case lookAgain
    }

    /// A request with the identity of its key. Storing it in a dictionary costs one reference.
    private struct Asked: Sendable, Hashable {
        let request: CacheRequest

        static func == (lhs: Asked, rhs: Asked) -> Bool { lhs.request.key == rhs.request.key }

        func hash(into hasher: inout Hasher) { request.key.hash(into: &hasher) }
    }

    private struct UnderWay: Sendable {
        let flight: CacheFlight
        /// The invalidation mark at the beginning of the flight.
        let mark: UInt64
        var followers: CacheFollowers?
    }

    private struct State: Sendable {
        var flights: [Asked: UnderWay] = [:]
        var lastNumber: UInt64 = 0
        var landings: UInt64 = 0
        /// The keys of the latest landings; landing `n` is at `n` modulo the count.
        var recent: [CacheKey?] = Array(repeating: nil, count: 64)

        func hasLanded(_ key: CacheKey, since mark: UInt64) -> Bool {
            guard landings != mark else { return false }
            let count = UInt64(recent.count)
            return landings - mark > count || (mark..<landings).contains { recent[Int($0 % count)] == key }
        }
    }

    private let state = Lock(State())
    private let invalidations: InvalidationLog

    init(_ invalidations: InvalidationLog) { self.invalidations = invalidations }

    /// The number of landings with a stored response. Read it before asking the store.
    var landings: UInt64 { state.withLock { $0.landings } }

    func join(_ asked: CacheRequest, since mark: UInt64) -> Joining {
        let (joining, outdated) = state.withLock { state -> (Joining, CacheFollowers?) in
            let hasLanded = state.hasLanded(asked.key, since: mark)
            let next = UnderWay(flight: CacheFlight(number: state.lastNumber + 1), mark: invalidations.mark)
            let (joining, outdated) = Self.join(
                &state.flights[Asked(request: asked)],
                hasLanded: hasLanded,
                next,
                isOutdated: { invalidations.concerns(asked.key.url, since: $0) }
            )
            if case .lead = joining { state.lastNumber = next.flight.number }
            return (joining, outdated)
        }
        // The response of the outdated flight will not be stored. One of its followers may lead the next flight.
        outdated?.end(.stalled)
        return joining
    }

    /// Joins the key's flight or replaces it, with a single lookup. Returns the followers of an outdated flight, which
    /// the caller ends outside the lock.
    private static func join(
        _ current: inout UnderWay?,
        hasLanded: Bool,
        _ next: UnderWay,
        isOutdated: (UInt64) -> Bool
    ) -> (Joining, CacheFollowers?) {
        var outdated: CacheFollowers?
        if let underWay = current {
            if underWay.mark != next.mark, isOutdated(underWay.mark) {
                outdated = underWay.followers
                current = nil
            } else {
                let followers = underWay.followers ?? CacheFollowers()
                if followers.end == nil {
                    current?.followers = followers
                    return (.follow(followers), nil)
                }
            }
        }
        if hasLanded { return (.lookAgain, outdated) }
        current = next
        return (.lead(next.flight), outdated)
    }

    /// Records the head of a response that others may use. Creates the followers, because requests that join later must
    /// know of the head.
    func headCame(of flight: CacheFlight, for asked: CacheRequest) {
        let followers = state.withLock { state -> CacheFollowers? in
            guard let underWay = state.flights[Asked(request: asked)], underWay.flight == flight else { return nil }
            let followers = underWay.followers ?? CacheFollowers()
            state.flights[Asked(request: asked)]?.followers = followers
            return followers
        }
        followers?.headCame()
    }

    func bytesCame(of flight: CacheFlight, for asked: CacheRequest) {
        let followers = state.withLock { state -> CacheFollowers? in
            guard let underWay = state.flights[Asked(request: asked)], underWay.flight == flight else { return nil }
            return underWay.followers
        }
        followers?.bytesCame()
    }

    /// Ends the flight for its followers. A stored response must be in the store already. Only the first end counts.
    func land(_ flight: CacheFlight, for asked: CacheRequest, _ end: CacheFlight.End) {
        let followers = state.withLock { state -> CacheFollowers? in
            if case .stored = end {
                state.recent[Int(state.landings % UInt64(state.recent.count))] = asked.key
                state.landings += 1
            }
            return Self.remove(flight, from: &state.flights[Asked(request: asked)])
        }
        followers?.end(end)
    }

    private static func remove(_ flight: CacheFlight, from current: inout UnderWay?) -> CacheFollowers? {
        guard let underWay = current, underWay.flight == flight else { return nil }
        current = nil
        return underWay.followers
    }
}

/// This process's claim to send the request for a key, if several processes share a store. The store is notified once,
/// when the claim is over.
final class CacheClaim: Sendable {
    private struct State: Sendable {
        var isOver = false
        var telling: Task<Void, Never>?
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
            state.telling = BodyTask.start { await store.fetchEnded(of: key, stored: false) }
        }
    }

    /// Ends the claim with the request. Returns when the store has been notified.
    func end(stored: Bool) async {
        let (wasOver, telling) = state.withLock { state in
            defer { state.isOver = true }
            return (state.isOver, state.telling)
        }
        if wasOver { await telling?.value } else { await store.fetchEnded(of: key, stored: stored) }
    }
}
