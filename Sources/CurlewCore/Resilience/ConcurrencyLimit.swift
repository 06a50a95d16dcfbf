/// The number of requests that may be in flight at the same time.
///
///     configuration.resilience.concurrency = .adaptive(floor: 4, ceiling: 100)
///
/// Requests beyond it wait for a place. WebSockets take none.
public struct ConcurrencyLimit: Sendable {
    package enum Kind: Sendable, Equatable {
        case fixed(Int)
        case adaptive(initial: Int, floor: Int, ceiling: Int)
    }

    package let kind: Kind
    package let scope: ResilienceScope

    /// Returns a limit that does not change. Numbers below 1 count as 1.
    public static func fixed(_ count: Int, per scope: ResilienceScope = .origin) -> ConcurrencyLimit {
        ConcurrencyLimit(kind: .fixed(max(count, 1)), scope: scope)
    }

    /// Returns a limit that follows the latency of the server between `floor` and `ceiling`: it grows while responses
    /// are as fast as usual, and shrinks when they become slower, time out, or have the status 429 or 503.
    public static func adaptive(
        initial: Int = 20, floor: Int = 4, ceiling: Int = 200, per scope: ResilienceScope = .origin
    ) -> ConcurrencyLimit {
        let floor = max(floor, 1)
        let ceiling = max(ceiling, floor)
        let first = min(max(initial, floor), ceiling)
        return ConcurrencyLimit(kind: .adaptive(initial: first, floor: floor, ceiling: ceiling), scope: scope)
    }
}

/// The places of a concurrency limit, and the rule by which an adaptive one changes.
///
/// The rule is a gradient: the usual latency, a slow average, divided by the recent one. Around 1 the server keeps up,
/// and the limit grows by its square root, smoothed. Below 1 requests queue up in the server, and the limit shrinks in
/// proportion, at most by half. The usual latency falls faster than it rises, so that a slow phase is soon forgotten.
///
/// The recent latency is the mean of as many responses as were in flight, so about one round trip. One response says
/// little: a healthy server answers many in half or twice the mean time. With a decision for each of them the usual
/// latency would sink with every short one, the limit with every long one, and at a thousand responses per second a
/// slow phase would be usual within a second.
package struct ConcurrencyLimiter: Sendable, Equatable {
    package private(set) var inFlight = 0
    private var allowed: Double
    private let kind: ConcurrencyLimit.Kind
    /// The usual latency in seconds; `nil` before the first decision.
    private var usual: Double?
    private var decisions = 0
    /// The sum and the number of latencies since the last decision.
    private var sum = 0.0
    private var count = 0

    /// Latencies up to this multiple of the usual one are normal.
    private static let tolerance = 1.5
    private static let smoothing = 0.2
    /// The share of the limit that remains after a sign of overload.
    private static let backOff = 0.9
    /// The minimum number of responses for a decision.
    private static let fewest = 10
    /// Before this number of decisions, the usual latency is the plain mean of the recent ones.
    private static let warmUp = 10
    /// The weight of a recent latency in the usual one.
    private static let weight = 0.01

    package init(_ kind: ConcurrencyLimit.Kind) {
        self.kind = kind
        allowed =
            switch kind {
            case .fixed(let count): Double(count)
            case .adaptive(let initial, _, _): Double(initial)
            }
    }

    package var limit: Int { Int(allowed) }
    package var hasPlace: Bool { inFlight < limit }

    package mutating func take() { inFlight += 1 }

    /// Gives a place back. `outcome` is `nil` if the attempt says nothing about the server.
    package mutating func giveBack(_ outcome: AttemptOutcome?) {
        let busy = inFlight
        inFlight -= 1
        guard let outcome, case .adaptive(_, let floor, let ceiling) = kind else { return }
        let next =
            if outcome.isOverload {
                allowed * Self.backOff
            } else if outcome.error == nil || outcome.status != nil {
                limit(after: outcome.latency / .seconds(1), busy)
            } else {
                // A refused connection is fast, and says nothing about the server's capacity.
                allowed
            }
        allowed = min(max(next, Double(floor)), Double(ceiling))
    }

    private mutating func limit(after latency: Double, _ busy: Int) -> Double {
        // Above zero, because it is a divisor.
        let latency = max(latency, 0.000_001)
        sum += latency
        count += 1
        guard count >= max(busy, Self.fewest) else { return allowed }
        let mean = sum / Double(count)
        (sum, count) = (0, 0)
        decisions = min(decisions + 1, Self.warmUp)
        let weight = decisions < Self.warmUp ? 1 / Double(decisions) : Self.weight
        var usual = self.usual.map { $0 + (mean - $0) * weight } ?? mean
        if usual > 2 * mean { usual *= 0.95 }
        self.usual = usual
        let gradient = min(max(Self.tolerance * usual / mean, 0.5), 1)
        let wanted = allowed * gradient + allowed.squareRoot()
        // A limit that is not reached says nothing about a higher one.
        if wanted > allowed, Double(busy) * 2 < allowed { return allowed }
        return allowed + (wanted - allowed) * Self.smoothing
    }
}
