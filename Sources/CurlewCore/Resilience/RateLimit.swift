/// The number of requests that may be sent in a time.
///
///     configuration.resilience.rateLimit = .requests(100, per: .seconds(1), burst: 20)
///
/// Requests beyond it wait for their turn. Several limits apply together with `and(_:)`. By default the session also
/// follows the server's announcements: `Retry-After` of a 429 or 503, and the fields `RateLimit`, `RateLimit-Policy`
/// and `X-RateLimit-…`.
public struct RateLimit: Sendable {
    /// One rate, and the requests that share it.
    package struct Part: Sendable {
        package let rate: CellRate
        package let scope: ResilienceScope
        /// The processes that share the rate. `nil` if only this session uses it.
        package var fleet: (any RateLeasing)?
    }

    package private(set) var parts: [Part]
    /// The requests that share the server's announcements.
    package let scope: ResilienceScope
    /// Whether the limits that the server announces are followed.
    public var followsServer = true

    /// Returns a limit of `count` requests per `period`, evenly spaced, of which `burst` may be sent at once.
    ///
    /// In a time of one period at most `count + burst - 1` requests are sent. Numbers below 1 count as 1.
    public static func requests(
        _ count: Int, per period: Duration, burst: Int = 1, per scope: ResilienceScope = .origin
    ) -> RateLimit {
        RateLimit(parts: [Part(rate: CellRate(count, per: period, burst: burst), scope: scope)], scope: scope)
    }

    /// Returns a limit that only follows the limits that the server announces.
    public static func server(per scope: ResilienceScope = .origin) -> RateLimit {
        RateLimit(parts: [], scope: scope)
    }

    /// Returns this limit, whose rates the processes of a fleet share.
    package func shared(byFleet fleet: any RateLeasing) -> RateLimit {
        var shared = self
        for index in shared.parts.indices { shared.parts[index].fleet = fleet }
        return shared
    }

    /// Returns the name of the requests that share the server's announcements; `nil` if they are not followed. They
    /// apply to the server's origin alone, unless the limit has no rate and a larger scope.
    package func quotaName(of request: TransferRequest, origin: String) -> String? {
        guard followsServer else { return nil }
        // A request's key does not matter here: an announcement holds only for the server that made it.
        if scope.isOrigin { return origin }
        let name = scope.name(of: request, origin: origin)
        return parts.isEmpty ? name : "\(origin) \(name)"
    }

    /// Returns this limit and another one: a request is sent when both permit it. The server's announcements are
    /// followed as by this one.
    public func and(_ other: RateLimit) -> RateLimit {
        var both = self
        both.parts += other.parts
        return both
    }
}

/// A rate of requests, by the generic cell rate algorithm (GCRA).
///
/// Its whole state is one instant, `due`: the time at which a source that sends exactly at the rate would send its next
/// request. A request conforms if it is at most `tolerance` before that. Times are durations since any fixed start.
package struct CellRate: Sendable, Equatable {
    package let interval: Duration
    package let tolerance: Duration
    private var due: Duration?

    package init(_ count: Int, per period: Duration, burst: Int) {
        // Bounded, so that no product overflows.
        let period = min(max(period, .nanoseconds(1)), .seconds(365 * 86_400))
        interval = period / min(max(count, 1), 1_000_000_000)
        tolerance = interval * (min(max(burst, 1), 1_000_000_000) - 1)
    }

    private init(interval: Duration, tolerance: Duration) {
        (self.interval, self.tolerance) = (interval, tolerance)
    }

    /// Returns the state of a rate that was never used, with a share of this one's requests: at least one in 10,000.
    package func reduced(to share: Double) -> CellRate {
        let share = share > 0.0001 ? min(share, 1) : 0.0001
        let interval = interval / share
        // The share of the burst, in whole requests.
        let others = max(0, Int((Double(tolerance / self.interval) + 1) * share) - 1)
        return CellRate(interval: interval, tolerance: interval * others)
    }

    /// Returns the time at which a request conforms, if `ahead` others go first: `now`, or a later one.
    package func opens(after ahead: Int = 0, at now: Duration) -> Duration {
        max(now, max(due ?? now, now) + interval * ahead - tolerance)
    }

    package mutating func admit(at now: Duration) { due = max(due ?? now, now) + interval }

    /// Whether the state can be forgotten, because it equals that of a rate that was never used.
    package func isIdle(at now: Duration) -> Bool { due.map { $0 <= now } ?? true }
}

/// A rate as an admission sees it: of this session alone, or leased from a fleet.
package enum AdmissionRate: Sendable {
    case own(CellRate)
    // Indirect, because it is six times as large as the usual case, and each request reads and writes its rates.
    indirect case leased(LeasedRate)

    package init(_ part: RateLimit.Part) {
        self = part.fleet.map { .leased(LeasedRate(part.rate, share: $0.localShare)) } ?? .own(part.rate)
    }

    /// Returns the time at which a request may be sent, if `ahead` others go first: `now`, or a later one.
    package func opens(after ahead: Int = 0, at now: Duration) -> Duration {
        switch self {
        case .own(let rate): rate.opens(after: ahead, at: now)
        case .leased(let rate): rate.opens(after: ahead, at: now)
        }
    }

    /// Returns the time before which the request is certainly not sent. Earlier than `opens` if a lease may arrive
    /// first.
    package func soonest(after ahead: Int, at now: Duration) -> Duration {
        switch self {
        case .own(let rate): rate.opens(after: ahead, at: now)
        case .leased(let rate): rate.soonest(after: ahead, at: now)
        }
    }

    package mutating func admit(at now: Duration) {
        switch self {
        case .own(var rate):
            rate.admit(at: now)
            self = .own(rate)
        case .leased(var rate):
            rate.admit(at: now)
            self = .leased(rate)
        }
    }

    /// Whether the state can be forgotten, because it equals that of a rate that was never used.
    package func isIdle(at now: Duration) -> Bool {
        switch self {
        case .own(let rate): rate.isIdle(at: now)
        case .leased(let rate): rate.isIdle(at: now)
        }
    }
}
