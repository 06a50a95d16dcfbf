/// The parts of a session's resilience that decide whether a request may be sent.
package struct AdmissionPolicy: Sendable {
    package let rateLimit: RateLimit?
    package let concurrency: ConcurrencyLimit?
    package let breaker: CircuitBreaker?
    package let waits: Bool
    package let maximumWaiting: Int
    /// The scope of `breaker`. Apart from it, because each attempt reads only the scope.
    private let circuitScope: ResilienceScope?
    /// Whether rates are leased from a fleet.
    package var leasesRates: Bool { rateLimit?.parts.contains { $0.fleet != nil } ?? false }

    var newPlaces: ConcurrencyLimiter? { concurrency.map { ConcurrencyLimiter($0.kind) } }
    var newCircuit: CircuitState? { breaker.map(CircuitState.init) }

    package init(
        rateLimit: RateLimit? = nil, concurrency: ConcurrencyLimit? = nil, breaker: CircuitBreaker? = nil,
        waits: Bool = true, maximumWaiting: Int = 10_000
    ) {
        self.rateLimit = rateLimit
        self.concurrency = concurrency
        self.breaker = breaker
        circuitScope = breaker?.scope
        self.waits = waits
        self.maximumWaiting = max(maximumWaiting, 0)
    }

    /// Returns the names by which a request shares limits with others. Calls user code.
    package func keys(of request: TransferRequest, origin: String, takesPlace: Bool) -> AdmissionKeys {
        let without = request.options.resilience?.without ?? []
        var keys = AdmissionKeys()
        if let rateLimit, !without.contains(.rateLimit) {
            keys.rates = rateLimit.parts.map { $0.scope.name(of: request, origin: origin) }
            keys.quota = rateLimit.quotaName(of: request, origin: origin)
        }
        if takesPlace, !without.contains(.concurrency) {
            keys.places = concurrency?.scope.name(of: request, origin: origin)
        }
        if !without.contains(.breaker) { keys.circuit = circuitScope?.circuitName(of: request, origin: origin) }
        return keys
    }
}

/// The names by which a request shares limits and circuits with others.
package struct AdmissionKeys: Sendable, Hashable {
    /// The name for each part of the rate limit.
    package var rates: [String] = []
    package var quota: String?
    package var places: String?
    package var circuit: String?

    package init(rates: [String] = [], quota: String? = nil, places: String? = nil, circuit: String? = nil) {
        self.rates = rates
        self.quota = quota
        self.places = places
        self.circuit = circuit
    }
}

/// The requests that share a limit or a circuit breaker.
///
///     RateLimit.requests(50, per: .seconds(1), per: .key { $0.headers.value(for: "X-Tenant") ?? "none" })
public struct ResilienceScope: Sendable {
    private enum Kind: Sendable {
        case origin
        case session
        case key(@Sendable (TransferRequest) -> String)
    }

    private let kind: Kind

    /// The requests of the session to one origin: scheme, host and port of the first URL of an attempt. The default.
    ///
    /// Requests with a key share rates and places with all requests that have the key, and a circuit with those that
    /// also have the same origin.
    public static let origin = ResilienceScope(kind: .origin)
    /// All requests of the session.
    public static let session = ResilienceScope(kind: .session)

    /// The requests of the session for which the closure returns the same text. It is called before each attempt, and
    /// before each second copy of ``Hedging``, with the adapted request, whose `headers` are without the session's
    /// fields. It must not block, and return the same text for the same request.
    public static func key(_ key: @escaping @Sendable (_ request: TransferRequest) -> String) -> ResilienceScope {
        ResilienceScope(kind: .key(key))
    }

    /// Returns the name that all requests have that share with this one. `origin` is the name of its origin.
    package func name(of request: TransferRequest, origin: String) -> String {
        switch kind {
        case .origin: request.options.resilience?.key ?? origin
        case .session: "session"
        case .key(let key): key(request)
        }
    }

    /// Returns the name of the circuit that a request uses. A request's key does not join the circuits of several
    /// servers, because the failure of one says nothing about the others.
    package func circuitName(of request: TransferRequest, origin: String) -> String {
        guard isOrigin, let key = request.options.resilience?.key else { return name(of: request, origin: origin) }
        return "\(origin) \(key)"
    }

    /// Whether requests share by origin, or by their key if they have one.
    package var isOrigin: Bool { if case .origin = kind { true } else { false } }
}

/// The importance of a request in comparison with others that wait.
///
///     session.request(url).priority(.background)
///
/// It orders the requests that wait for a limit of ``Resilience``, and those that wait for a connection to the same
/// origin: by priority, then by arrival. It is also sent as a field `Priority` (RFC 9218), by which servers order their
/// responses.
public struct RequestPriority: Sendable, Hashable, Comparable {
    /// The urgency of RFC 9218: 0 is the most urgent, 7 the least.
    public let urgency: Int

    /// Creates a priority. An urgency outside 0...7 becomes the nearest one inside.
    public init(urgency: Int) { self.urgency = min(max(urgency, 0), 7) }

    /// Somebody waits, and everything else depends on the response.
    public static let critical = RequestPriority(urgency: 0)
    /// Somebody waits for the response.
    public static let high = RequestPriority(urgency: 1)
    /// The default.
    public static let normal = RequestPriority(urgency: 3)
    /// The response is wanted soon.
    public static let low = RequestPriority(urgency: 5)
    /// Nobody waits: prefetching, synchronization.
    public static let background = RequestPriority(urgency: 7)

    /// Whether the first priority is the less important one.
    public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.urgency > right.urgency }

    /// The value of the field `Priority`. `nil` for the default of RFC 9218, which needs no field.
    package var fieldValue: String? { self == .normal ? nil : "u=\(urgency)" }
}

/// Parts of a session's resilience, for requests that leave some of them out.
public struct ResilienceParts: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The rates, and the limits that the server announces.
    public static let rateLimit = ResilienceParts(rawValue: 1)
    /// The number of requests at the same time.
    public static let concurrency = ResilienceParts(rawValue: 2)
    /// The circuit breaker.
    public static let breaker = ResilienceParts(rawValue: 4)
    /// The limit of retries.
    public static let retryBudget = ResilienceParts(rawValue: 8)
    /// The second copy of slow requests.
    public static let hedging = ResilienceParts(rawValue: 16)
    /// Every part.
    public static let all: ResilienceParts = [.rateLimit, .concurrency, .breaker, .retryBudget, .hedging]
}

/// The differences of one request from the resilience of its session.
package struct RequestResilience: Sendable, Hashable {
    /// The parts that neither restrict the request nor learn from it.
    package let without: ResilienceParts
    /// The name by which the request shares rates and places, in place of its origin. Its circuit is that of its origin
    /// and the key.
    package let key: String?
    package let waits: Bool

    package init(without: ResilienceParts, key: String?, waits: Bool) {
        self.without = without
        self.key = key
        self.waits = waits
    }
}

extension TransferRequest {
    package func leavesOut(_ part: ResilienceParts) -> Bool { options.resilience?.without.contains(part) ?? false }
}
