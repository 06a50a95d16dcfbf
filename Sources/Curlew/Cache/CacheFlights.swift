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
    }

    private struct State: Sendable {
        var end: End?
        var waiters: [OneShot<Bool>] = []
    }

    let key: CacheKey
    private let state = Lock(State())

    init(key: CacheKey) { self.key = key }

    var end: End? { state.withLock { $0.end } }

    /// The first end counts.
    func end(_ end: End) {
        let waiters = state.withLock { state -> [OneShot<Bool>] in
            guard state.end == nil else { return [] }
            state.end = end
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resolve(true) }
    }

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
    }

    private let state = Lock(State())

    /// How many have stored a response. To be asked before the store is.
    var landings: UInt64 { state.withLock { $0.landings } }

    func join(_ key: CacheKey, since mark: UInt64) -> Joining {
        state.withLock { state in
            if let flight = state.flights[key], flight.end == nil { return .follow(flight) }
            if state.landings != mark {
                let missed = state.landings - mark
                let count = UInt64(state.recent.count)
                let hasLanded =
                    missed > count || (mark..<state.landings).contains { state.recent[Int($0 % count)] == key }
                if hasLanded { return .lookAgain }
            }
            let flight = CacheFlight(key: key)
            state.flights[key] = flight
            return .lead(flight)
        }
    }

    /// The flight is over. What it stored is in the store already.
    func land(_ flight: CacheFlight, _ end: CacheFlight.End) {
        _ = state.withLock { state -> CacheFlight? in
            if case .stored = end {
                state.recent[Int(state.landings % UInt64(state.recent.count))] = flight.key
                state.landings += 1
            }
            guard state.flights[flight.key] === flight else { return nil }
            return state.flights.removeValue(forKey: flight.key)
        }
        flight.end(end)
    }
}
