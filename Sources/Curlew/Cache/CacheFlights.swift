internal import CurlewCore
internal import CurlewLocks

/// A request whose response others wait for.
final class CacheFlight: Sendable {
    enum End: Sendable {
        /// The response is in the store.
        case stored
        /// The response is not for others: they send their own requests.
        case notStored
        /// There is no response: the next of them may try.
        case failed
        /// Nothing of it came for a long time, because its own reader has paused perhaps: the same, but no server has failed.
        case stalled
    }

    private struct State: Sendable {
        var end: End?
        /// When something of the response came last; nil before its head.
        var lastHeard: ContinuousClock.Instant?
        var waiters: [OneShot<Bool>] = []
    }

    let key: CacheKey
    private let state = Lock(State())

    init(key: CacheKey) { self.key = key }

    var end: End? { state.withLock { $0.end } }
    var lastHeard: ContinuousClock.Instant? { state.withLock { $0.lastHeard } }

    /// The head of the response is there: those who wait have other time limits now.
    func headCame() {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            state.lastHeard = .now
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

    /// Something of the body came. Who begins to wait later counts from then.
    func bytesCame() {
        state.withLock { state in
            if !state.waiters.isEmpty { state.lastHeard = .now }
        }
    }

    /// The first end counts.
    func end(_ end: End) {
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
        case follow(CacheFlight)
        /// One has ended since the store was asked: its response may be there by now.
        case lookAgain
    }

    private struct State: Sendable {
        var flights: [CacheKey: CacheFlight] = [:]
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

    /// How many have stored a response. To be asked before the store is.
    var landings: UInt64 { state.withLock { $0.landings } }

    func join(_ key: CacheKey, since mark: UInt64) -> Joining {
        state.withLock { state in
            let hasLanded = state.hasLanded(key, since: mark)
            return Self.join(&state.flights[key], key, hasLanded: hasLanded)
        }
    }

    /// One lookup of the key, for its flight and for the place of a new one.
    private static func join(_ current: inout CacheFlight?, _ key: CacheKey, hasLanded: Bool) -> Joining {
        if let flight = current, flight.end == nil { return .follow(flight) }
        if hasLanded { return .lookAgain }
        let flight = CacheFlight(key: key)
        current = flight
        return .lead(flight)
    }

    /// The flight is over. What it stored is in the store already.
    func land(_ flight: CacheFlight, _ end: CacheFlight.End) {
        state.withLock { state in
            if case .stored = end {
                state.recent[Int(state.landings % UInt64(state.recent.count))] = flight.key
                state.landings += 1
            }
            Self.remove(flight, from: &state.flights[flight.key])
        }
        flight.end(end)
    }

    private static func remove(_ flight: CacheFlight, from current: inout CacheFlight?) {
        if current === flight { current = nil }
    }
}
