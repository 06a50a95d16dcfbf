internal import CurlewCore
internal import CurlewLocks

/// A request whose response others may wait for: the one that is sent, of several for the same key.
struct CacheFlight: Sendable, Equatable {
    enum End: Sendable {
        /// The response is in the store.
        case stored
        /// The response is not for others: they send their own requests.
        case notStored
        /// There is no response: the next of them may try.
        case failed
        /// Nothing of it came for a long time, because its own reader has paused perhaps, or it has become out of date on its
        /// way: the same, but no server has failed.
        case stalled
    }

    fileprivate let number: UInt64
    /// Where the store was asked whether this process is to send the request.
    var claim: CacheClaim?

    fileprivate init(number: UInt64) { self.number = number }

    static func == (lhs: CacheFlight, rhs: CacheFlight) -> Bool { lhs.number == rhs.number }
}

/// Those who wait for a flight. Most flights have none, and nothing is made for them.
final class CacheFollowers: Sendable {
    private struct State: Sendable {
        var end: CacheFlight.End?
        /// When something of the response came last; nil before its head.
        var lastHeard: ContinuousClock.Instant?
        var waiters: [OneShot<Bool>] = []
    }

    private let state = Lock(State())

    var end: CacheFlight.End? { state.withLock { $0.end } }
    var lastHeard: ContinuousClock.Instant? { state.withLock { $0.lastHeard } }

    /// The head of the response is there: those who wait have other time limits now.
    fileprivate func headCame() {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            state.lastHeard = .now
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Something of the body came. Who begins to wait later counts from then.
    fileprivate func bytesCame() {
        state.withLock { state in
            if !state.waiters.isEmpty { state.lastHeard = .now }
        }
    }

    /// The first end counts.
    func end(_ end: CacheFlight.End) {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            guard state.end == nil else { return [] }
            state.end = end
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// The waiter is told of the head and of the end, once.
    func add(_ waiter: OneShot<Bool>) {
        let isOver = state.withLock { state in
            if state.end == nil { state.waiters.append(waiter) }
            return state.end != nil
        }
        if isOver { waiter.resolve(true) }
    }
}

/// Which responses are under way, so that of many requests for one response one is sent.
final class CacheFlights: Sendable {
    enum Joining {
        /// This request is the one that is sent; the flight has to be landed.
        case lead(CacheFlight)
        /// Another is under way.
        case follow(CacheFollowers)
        /// One has ended since the store was asked: its response may be there by now.
        case lookAgain
    }

    /// A request by its key, at the cost of one reference.
    private struct Asked: Sendable, Hashable {
        let request: CacheRequest

        static func == (lhs: Asked, rhs: Asked) -> Bool { lhs.request.key == rhs.request.key }

        func hash(into hasher: inout Hasher) { request.key.hash(into: &hasher) }
    }

    private struct UnderWay: Sendable {
        let flight: CacheFlight
        /// What was made out of date before it began.
        let mark: UInt64
        var followers: CacheFollowers?
    }

    private struct State: Sendable {
        var flights: [Asked: UnderWay] = [:]
        var lastNumber: UInt64 = 0
        var landings: UInt64 = 0
        /// The keys of the last of them, by their number.
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

    /// How many have stored a response. To be asked before the store is.
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
        // They wait for nothing that will be stored: one of them may lead the next flight.
        outdated?.end(.stalled)
        return joining
    }

    /// One lookup of the key, for its flight and for the place of a new one. Those who wait for a flight that is out of date
    /// come back, to be told.
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

    /// The head of a response is there that others may use, and those who come from now on have to know it.
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

    /// The flight is over for others. What it stored is in the store already. The first end counts.
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
