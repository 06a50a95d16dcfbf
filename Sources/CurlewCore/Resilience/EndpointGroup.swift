public import Foundation

/// Several servers of one service, of which a session chooses one for each attempt of a request.
///
///     configuration.endpoints = EndpointGroup(
///         ["https://a.example.com/v1", "https://b.example.com/v1"], strategy: .leastOutstanding)
///
/// Requests with a relative URL use it. A retry goes to an endpoint on which the request has not failed yet, while
/// there is one. Endpoints that fail are left out for a while: see ``Ejection``.
///
/// Every endpoint gets the requests with their credentials, so all of them must be trusted alike.
public struct EndpointGroup: Sendable {
    /// One server.
    public struct Endpoint: Sendable, Hashable, ExpressibleByStringLiteral {
        /// The URL that relative URLs are resolved against, as `baseURL` is.
        public var url: String
        /// The share of the requests, in relation to the weights of the others. Numbers outside 1...1,000,000 count as
        /// the nearest one inside. `.failover` ignores it.
        public var weight: Int
        /// The name of the place in which the server is.
        public var zone: String?

        /// Creates an endpoint.
        public init(_ url: String, weight: Int = 1, zone: String? = nil) {
            self.url = url
            self.weight = weight
            self.zone = zone
        }

        /// Creates an endpoint.
        public init(_ url: URL, weight: Int = 1, zone: String? = nil) {
            self.init(url.absoluteString, weight: weight, zone: zone)
        }

        /// Creates an endpoint with the weight 1 and without a zone.
        public init(stringLiteral url: String) { self.init(url) }
    }

    /// The rule by which an endpoint is chosen.
    public enum Strategy: Sendable, Hashable {
        /// The first in the order of the group.
        case failover
        /// One after the other, in proportion to their weights.
        case roundRobin
        /// Of two at random, the one with fewer requests in flight for its weight.
        case leastOutstanding
    }

    /// When an endpoint is left out, and for how long.
    ///
    /// An endpoint is ejected when it has failed several times in a row, or too often. When the time is over, one
    /// request is sent to it as a trial. If that succeeds, the endpoint is back; if it fails, the endpoint is ejected
    /// for twice the time. An endpoint that then stays in the group for as long as it was last ejected starts again
    /// with the first time.
    ///
    /// If every endpoint is ejected, requests are sent as if none were.
    public struct Ejection: Sendable {
        /// The number of failures in a row that eject an endpoint.
        public var consecutiveFailures: Int
        /// The share of failures, from 0 to 1, that ejects an endpoint.
        public var failureRate: Double
        /// The outcomes that are considered for the share.
        public var window: CircuitBreaker.Window
        /// The minimum number of outcomes for the share to eject an endpoint. A window of fewer outcomes needs to be
        /// full.
        public var minimumCalls: Int
        /// The time of the first ejection.
        public var time: Duration
        /// The time of the longest ejection.
        public var longestTime: Duration
        /// The share of the group that may be ejected at once, from 0 to 1. The number is rounded: of two endpoints
        /// one, of three two, with the default. Others that fail stay.
        public var maximumShare: Double
        /// Decides which outcomes are failures. Called without a lock, on the task of the request.
        public var isFailure: @Sendable (AttemptOutcome) -> Bool

        /// Creates a rule. The defaults eject an endpoint for 10 seconds after five failures in a row, or when half of
        /// its last 100 outcomes were failures and at least 20 of them are known.
        public init(
            consecutiveFailures: Int = 5,
            failureRate: Double = 0.5,
            window: CircuitBreaker.Window = .count(100),
            minimumCalls: Int = 20,
            time: Duration = .seconds(10),
            longestTime: Duration = .seconds(300),
            maximumShare: Double = 0.5,
            isFailure: @escaping @Sendable (AttemptOutcome) -> Bool = { $0.isServerFailure }
        ) {
            self.consecutiveFailures = consecutiveFailures
            self.failureRate = failureRate
            self.window = window
            self.minimumCalls = minimumCalls
            self.time = time
            self.longestTime = longestTime
            self.maximumShare = maximumShare
            self.isFailure = isFailure
        }

        /// Returns the time of the ejection with this number, counted from 1.
        func time(of number: Int) -> Duration {
            // Bounded, so that the product does not overflow.
            let longest = min(max(longestTime, .zero), .seconds(365 * 86_400))
            return min(min(max(time, .zero), longest) * (1 << min(max(number - 1, 0), 20)), longest)
        }

        func largestNumber(of count: Int) -> Int {
            // Also false for NaN, which `min` and `max` would return.
            guard maximumShare > 0 else { return 0 }
            return Int((min(maximumShare, 1) * Double(count)).rounded())
        }

        /// Whether these outcomes are too many failures.
        func isTooMany(_ counts: OutcomeWindow.Counts) -> Bool {
            let needed = if case .count(let size) = window { min(minimumCalls, size) } else { minimumCalls }
            return counts.calls >= max(needed, 1) && counts.failures > 0
                && Double(counts.failures) >= failureRate * Double(counts.calls)
        }
    }

    /// The endpoints. A group without any makes requests with a relative URL fail with `.invalidURL`, and so does one
    /// in which only some use TLS.
    public var endpoints: [Endpoint]
    /// The rule by which an endpoint is chosen.
    public var strategy: Strategy
    /// The zone of this client. Endpoints of other zones are used only if none of this one can be. `nil`: zones do not
    /// matter.
    public var zone: String?
    /// When an endpoint is left out. `nil`: never.
    public var ejection: Ejection?

    /// Creates a group.
    public init(
        _ endpoints: [Endpoint],
        strategy: Strategy = .roundRobin,
        zone: String? = nil,
        ejection: Ejection? = Ejection()
    ) {
        self.endpoints = endpoints
        self.strategy = strategy
        self.zone = zone
        self.ejection = ejection
    }
}

/// Chooses the endpoints of a group, and learns from the outcomes.
///
///     present ── fails in a row, or too often ──▶ ejected ── its time is over ──▶ due
///       ▲                                          ▲   ▲                           │ chosen: a trial begins
///       │                                          │   └───── the trial fails ─────┤ (no other request meanwhile)
///       └──────────────────────────────────────────│───── a request succeeds ──────┘
///                                                  └ a trial that does not end is followed by another one
///
/// A value type. Time and random numbers are parameters, the time a duration since any fixed start. A time before an
/// earlier one counts as the earlier one.
package struct EndpointState: Sendable {
    /// An attempt's use of an endpoint. Give it back with `finish`, exactly once.
    package struct Choice: Sendable, Hashable {
        package let index: Int
        /// The number of ejections and returns of the endpoint until it was chosen. If there have been more since, the
        /// outcome says nothing about the present.
        let generation: Int
        package let isTrial: Bool
        /// Whether the choice returned the endpoint to the group, because too many others are ejected.
        package let isReturn: Bool
    }

    /// A change of an endpoint.
    package enum Change: Sendable, Equatable {
        case ejected(for: Duration)
        case returned
    }

    private struct Member: Sendable {
        let weight: Int
        let zone: String?
        var outstanding = 0
        /// For `.roundRobin`: the number of requests that the endpoint is short of its share, times the sum of the
        /// weights.
        var credit = 0
        /// The failures since the last success.
        var failures = 0
        var window: OutcomeWindow?
        /// The time before which no request is sent; `nil` if it is not ejected.
        var ejectedUntil: Duration?
        /// The ejections without a calm time in between, and the end of the last one.
        var ejections = 0
        var returned: Duration?
        var generation = 0

        /// The requests in flight for each unit of weight, if one more is sent.
        var load: Double { Double(outstanding + 1) / Double(weight) }

        func isAvailable(at now: Duration) -> Bool { ejectedUntil.map { $0 <= now } ?? true }
    }

    private let strategy: EndpointGroup.Strategy
    private let zone: String?
    private let ejection: EndpointGroup.Ejection?
    private var members: [Member]
    private var time: Duration = .zero

    /// `nil` for a group without endpoints.
    package init?(_ group: EndpointGroup) {
        if group.endpoints.isEmpty { return nil }
        (strategy, zone, ejection) = (group.strategy, group.zone, group.ejection)
        members = group.endpoints.map {
            Member(
                weight: min(max($0.weight, 1), 1_000_000), zone: $0.zone,
                window: group.ejection.map { OutcomeWindow($0.window) })
        }
    }

    // MARK: Choosing

    /// Chooses an endpoint, if possible not one of those that have failed the request.
    package mutating func choose(
        avoiding failed: Set<Int> = [], at now: Duration, using random: inout some RandomNumberGenerator
    ) -> Choice {
        let now = advance(to: now)
        let index = pick(from: candidates(avoiding: failed, at: now), using: &random)
        members[index].outstanding += 1
        var (isTrial, isReturn) = (false, false)
        if members[index].ejectedUntil.map({ $0 <= now }) == true, let ejection {
            if mayEject(index, ejection, at: now) {
                // If it takes as long as the first ejection, another trial follows.
                members[index].ejectedUntil = now + ejection.time(of: 1)
                isTrial = true
            } else {
                comeBack(index, at: now)
                isReturn = true
            }
        }
        return Choice(
            index: index, generation: members[index].generation, isTrial: isTrial, isReturn: isReturn)
    }

    /// Returns the endpoints to choose from, in their order: the available ones; of these, the ones on which the
    /// request has not failed; of these, the ones in the zone. A rule that leaves none is skipped. So if none is
    /// available, ejections do not count: otherwise all requests would be sent to one endpoint.
    private func candidates(avoiding failed: Set<Int>, at now: Duration) -> [Int] {
        let available = members.indices.filter { members[$0].isAvailable(at: now) }
        let usable = available.isEmpty ? Array(members.indices) : available
        let fresh = failed.isEmpty ? usable : usable.filter { !failed.contains($0) }
        let preferred = fresh.isEmpty ? usable : fresh
        guard let zone else { return preferred }
        let local = preferred.filter { members[$0].zone == zone }
        return local.isEmpty ? preferred : local
    }

    private mutating func pick(from candidates: [Int], using random: inout some RandomNumberGenerator) -> Int {
        guard candidates.count > 1 else { return candidates[0] }
        switch strategy {
        case .failover: return candidates[0]
        case .roundRobin: return nextInTurn(of: candidates)
        case .leastOutstanding:
            let first = Int.random(in: 0..<candidates.count, using: &random)
            // Each of the others is equally likely.
            let step = Int.random(in: 1..<candidates.count, using: &random)
            let (one, other) = (candidates[first], candidates[(first + step) % candidates.count])
            return members[other].load < members[one].load ? other : one
        }
    }

    /// Smooth weighted round robin: every candidate earns its weight, and the one with the most pays for all. So the
    /// credits add up to zero. With candidates that do not change, none falls to minus the sum of the weights: no
    /// endpoint is ahead of its share by a whole request.
    private mutating func nextInTurn(of candidates: [Int]) -> Int {
        var (best, sum) = (candidates[0], 0)
        for index in candidates {
            members[index].credit += members[index].weight
            sum += members[index].weight
            if members[index].credit > members[best].credit { best = index }
        }
        members[best].credit -= sum
        return best
    }

    // MARK: Learning

    /// Records the end of a request. `isFailure` is `nil` if it says nothing about the endpoint. Returns the change that
    /// it has caused.
    @discardableResult
    package mutating func finish(_ choice: Choice, isFailure: Bool?, at now: Duration) -> Change? {
        let (now, index) = (advance(to: now), choice.index)
        members[index].outstanding -= 1
        guard let ejection, choice.generation == members[index].generation else { return nil }
        guard members[index].ejectedUntil == nil else {
            switch isFailure {
            // Another trial may begin.
            case nil:
                if choice.isTrial { members[index].ejectedUntil = now }
                return nil
            case false?: return comeBack(index, at: now)
            case true?: return choice.isTrial ? eject(index, ejection, at: now) : nil
            }
        }
        guard let isFailure else { return nil }
        members[index].failures = isFailure ? members[index].failures + 1 : 0
        members[index].window?.add(CircuitState.Call(isFailure: isFailure), at: now)
        let isOutlier =
            members[index].failures >= max(ejection.consecutiveFailures, 1)
            || members[index].window.map { ejection.isTooMany($0.counts(at: now)) } ?? false
        return isFailure && isOutlier ? eject(index, ejection, at: now) : nil
    }

    /// Ejects an endpoint. If too many others are ejected, it stays or returns to the group.
    private mutating func eject(_ index: Int, _ ejection: EndpointGroup.Ejection, at now: Duration) -> Change? {
        guard mayEject(index, ejection, at: now) else {
            return members[index].ejectedUntil == nil ? nil : comeBack(index, at: now)
        }
        if let returned = members[index].returned, now - returned >= ejection.time(of: members[index].ejections) {
            members[index].ejections = 0
        }
        // A trial that fails continues the series.
        members[index].returned = nil
        members[index].ejections += 1
        let time = ejection.time(of: members[index].ejections)
        members[index].ejectedUntil = now + time
        members[index].generation += 1
        return .ejected(for: time)
    }

    @discardableResult
    private mutating func comeBack(_ index: Int, at now: Duration) -> Change {
        members[index].ejectedUntil = nil
        members[index].returned = now
        members[index].failures = 0
        members[index].window?.removeAll()
        members[index].generation += 1
        return .returned
    }

    private func mayEject(_ index: Int, _ ejection: EndpointGroup.Ejection, at now: Duration) -> Bool {
        let others = members.indices.count { $0 != index && !members[$0].isAvailable(at: now) }
        return others < ejection.largestNumber(of: members.count)
    }

    private mutating func advance(to now: Duration) -> Duration {
        time = max(time, now)
        return time
    }

    // MARK: Looking

    /// For each endpoint, the requests in flight, and the time for which it is ejected, or until the next trial; zero
    /// if its trial is due.
    package func members(at now: Duration) -> [(outstanding: Int, ejectedFor: Duration?)] {
        let now = max(now, time)
        return members.map { member in
            (member.outstanding, member.ejectedUntil.map { max($0 - now, .zero) })
        }
    }
}
