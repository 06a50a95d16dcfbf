public import CurlewCore
public import Foundation

/// How a session treats servers that are busy, slow or fail: limits, a circuit breaker, a retry budget and hedging.
///
///     let session = Session(configuration: SessionConfiguration {
///         $0.resilience.rateLimit = .requests(100, per: .seconds(1), burst: 20)
///         $0.resilience.concurrency = .adaptive(floor: 4, ceiling: 100)
///         $0.resilience.breaker = CircuitBreaker()
///     })
///
/// Every attempt of a request is admitted before it is sent. It waits while a limit does not permit it, at most for the
/// `queue` timeout, and fails with `.limited` if that is known to be too short, or with `.circuitOpen`. Both errors
/// have a `retryAfter`, and nothing was sent. The default has no parts and costs nothing.
///
/// Redirects and challenges belong to their attempt and are not admitted again. Admission precedes the cache, so a
/// request that the cache answers needs it too, unless its policy is `.onlyStored`.
public struct Resilience: Sendable {
    /// Limits the number of requests per time.
    public var rateLimit: RateLimit?
    /// Limits the number of requests at the same time.
    public var concurrency: ConcurrencyLimit?
    /// Stops sending requests to a server that fails.
    public var breaker: CircuitBreaker?
    /// Limits the retries to each origin, whichever retrier wants them. Each origin has its own budget, with the
    /// numbers of this one.
    public var retryBudget: RetryBudget?
    /// Sends a second copy of a request whose response takes unusually long.
    public var hedging: Hedging?
    /// Whether requests wait for a limit. If not, they fail with `.limited` at once.
    public var waits = true
    /// The name of a field that tells the server how much of the total timeout is left when the exchange begins, in
    /// milliseconds, or for `grpc-timeout` in gRPC's form. Requests without a total timeout or a ``RequestDeadline`` do
    /// not have it, and a field that the request sets itself is sent unchanged. `nil` sends none.
    public var deadlineField: String?
    /// The maximum number of waiting requests. Beyond it, the least important one fails with `.limited`: of several, the
    /// last one of those that wait for the same limits as most others do.
    public var maximumWaiting = 10_000

    /// Creates a value with the given parts; by default it has none.
    public init(
        rateLimit: RateLimit? = nil,
        concurrency: ConcurrencyLimit? = nil,
        breaker: CircuitBreaker? = nil,
        retryBudget: RetryBudget? = nil,
        hedging: Hedging? = nil
    ) {
        self.rateLimit = rateLimit
        self.concurrency = concurrency
        self.breaker = breaker
        self.retryBudget = retryBudget
        self.hedging = hedging
    }

    /// Limits for a service that calls others. Each origin has its own:
    ///
    /// | part | numbers |
    /// |---|---|
    /// | rate | what the server says: `Retry-After`, `RateLimit`, `X-RateLimit-…` |
    /// | concurrency | adaptive: 20 at first, 4 to 200 |
    /// | breaker | opens for 10 s if half of the last 100 outcomes were failures, with at least 20 known; one probe |
    /// | retries | 0.2 per request, at least 1 per second, at most 20 at once |
    ///
    /// Hedging is not included, because it sends more requests, and not every server benefits from that.
    public static var standard: Resilience {
        Resilience(
            rateLimit: .server(), concurrency: .adaptive(), breaker: CircuitBreaker(), retryBudget: RetryBudget())
    }

    /// Whether a part decides about attempts or retries. Hedging decides about second copies only.
    var admitsAttempts: Bool { rateLimit != nil || concurrency != nil || breaker != nil || retryBudget != nil }

    var policy: AdmissionPolicy {
        AdmissionPolicy(
            rateLimit: rateLimit, concurrency: concurrency, breaker: breaker, waits: waits,
            maximumWaiting: maximumWaiting)
    }
}

/// The decision of a session's resilience about one attempt.
///
///     for attempt in request.attempts { print(attempt.admission?.description ?? "not asked") }
///
/// Monitors find it in the request's `attempts`, from the attempt's first event on.
public struct Admission: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a decision.
    public enum Decision: Sendable, Hashable {
        /// The attempt was sent.
        case admitted
        /// A rate limit, or the server, does not permit it in time.
        case rateLimited
        /// Every place of the concurrency limit is taken.
        case full
        /// Too many requests wait, and none of them is less important.
        case shed
        /// The circuit is open, or its probe is in flight.
        case circuitOpen
        /// No limit has permitted it before a timeout.
        case timedOut
    }

    /// The decision.
    public let decision: Decision
    /// The time that the attempt has waited.
    public let waited: Duration
    /// The time after which another try makes sense. `nil` if it was admitted, or the time is not known.
    public let retryAfter: Duration?

    /// The decision with its reason, in a few words.
    public var description: String {
        let later = retryAfter.map { ", for \($0)" } ?? ""
        return switch decision {
        case .admitted: waited == .zero ? "admitted at once" : "admitted after \(waited)"
        case .rateLimited: "the rate limit permits no request\(later)"
        case .full: "all places of the concurrency limit are taken"
        case .shed: "shed: too many requests wait"
        case .circuitOpen:
            retryAfter.map { "the circuit is open for another \($0)" } ?? "the circuit waits for its probe"
        case .timedOut: "not permitted within \(waited)"
        }
    }
}

/// A decision of a session's resilience about a request, with its reason in `description`.
///
/// Monitors receive each one: see ``EventMonitor/request(_:didDecide:)``. What concerns more than one request is a
/// ``SessionDecision``. A second copy that was sent is in the metrics (``Hedge``).
public enum ResilienceDecision: Sendable, Hashable, CustomStringConvertible {
    /// Whether an attempt is sent, and how long it has waited.
    case attempt(Admission)
    /// A retrier wants another attempt, but the circuit would still be open.
    case retryRefusedByCircuit
    /// A retrier wants another attempt, but the retry budget of the origin is used up.
    case retryRefusedByBudget

    /// The decision with its reason, in a few words.
    public var description: String {
        switch self {
        case .attempt(let admission): admission.description
        case .retryRefusedByCircuit: "no retry: the circuit is open"
        case .retryRefusedByBudget: "no retry: the retry budget is used up"
        }
    }
}

/// A decision of a session's resilience that concerns more than one request, with its reason in `description`.
///
/// Monitors of the session receive each one: see ``EventMonitor/session(_:didDecide:)``. Circuits have the names that
/// they have in ``ResilienceSnapshot``. A name may have the key of a request or of a ``ResilienceScope`` in it, which may
/// be secret, so `description` has only its origin. A circuit that nobody uses is forgotten without an event.
public enum SessionDecision: Sendable, Hashable, CustomStringConvertible {
    /// A circuit is open for this time. After it, the next request is sent as a probe.
    case circuitOpened(String, for: Duration, because: CircuitBreaker.OpeningCause)
    /// The probes of a circuit have succeeded, so it is closed again.
    case circuitClosed(String)
    /// An endpoint has failed too often, and gets no request for this time.
    case endpointEjected(URL, for: Duration)
    /// An endpoint is back in its group: a request to it has succeeded, or too many others are ejected.
    case endpointReturned(URL)
    /// The second copy of a slow request to this origin was due, and was not sent.
    case hedgeRefused(String, because: Hedging.Refusal)

    /// The decision with its reason, in a few words.
    public var description: String {
        switch self {
        case .circuitOpened(let name, let time, let cause):
            "\(Self.origin(in: name)): open for \(time), because \(Self.text(of: cause))"
        case .circuitClosed(let name): "\(Self.origin(in: name)): closed, because its probes succeeded"
        case .endpointEjected(let url, let time): "\(url.absoluteString): no requests for \(time), because it failed"
        case .endpointReturned(let url): "\(url.absoluteString): requests again"
        case .hedgeRefused(let origin, .share): "\(origin): no second copy, because their share is used up"
        case .hedgeRefused(let origin, .limits): "\(origin): no second copy, because a limit does not permit it"
        }
    }

    private static func text(of cause: CircuitBreaker.OpeningCause) -> String {
        switch cause {
        case .failures(let count, let calls): "\(count) of \(calls) attempts failed"
        case .slow(let count, let calls): "\(count) of \(calls) attempts were slow"
        case .probe: "its probe failed"
        }
    }
}

extension SessionDecision {
    init(_ circuit: String, _ change: CircuitState.Change) {
        switch change {
        case .opened(let time, let cause): self = .circuitOpened(circuit, for: time, because: cause)
        case .closed: self = .circuitClosed(circuit)
        }
    }

    /// Returns the origin with which the name of a circuit begins, or else only that it is a circuit.
    private static func origin(in name: String) -> String {
        let first = name.prefix { $0 != " " }
        return URL(string: String(first)).flatMap(ConnectionSnapshot.Origin.init)?.description ?? "a circuit"
    }
}

extension Admission {
    /// The end of a wait that a timeout has ended.
    init(timedOutAfter waited: Duration) { (decision, self.waited, retryAfter) = (.timedOut, waited, nil) }

    init(_ verdict: AdmissionState.Verdict, after waited: Duration) {
        self.waited = waited
        switch verdict {
        case .admitted: (decision, retryAfter) = (.admitted, nil)
        case .refused(let refusal):
            retryAfter = refusal.retryAfter
            decision =
                switch refusal.cause {
                case .open, .probing: .circuitOpen
                case .rate: .rateLimited
                case .places: .full
                case .shed: .shed
                }
        }
    }
}

/// The resilience of a session, with the current state of its limits and circuits.
public struct SessionResilience: Sendable {
    let control: ResilienceControl?
    let endpoints: EndpointControl?

    /// Returns the current numbers. Empty for a session without resilience and endpoints.
    public func snapshot() async -> ResilienceSnapshot {
        var snapshot = control?.snapshot() ?? ResilienceSnapshot()
        if let endpoints { snapshot.endpoints = endpoints.snapshot() }
        return snapshot
    }
}

extension Session {
    /// The session's limits, circuits and budgets.
    ///
    ///     let snapshot = await session.resilience.snapshot()
    ///     print(snapshot.waiting, snapshot.circuits["https://api.example.com"]?.state as Any)
    public nonisolated var resilience: SessionResilience {
        SessionResilience(control: context.resilience, endpoints: try? context.endpoints?.get())
    }
}

/// The limits and circuits of a session at one moment, by the name of their scope: an origin such as
/// `https://api.example.com`, `session`, or the text of a key. The circuit of a request with `resilience(key:)` is named
/// after the origin and, after a space, the key.
///
/// Limits and circuits in their initial state may be missing.
public struct ResilienceSnapshot: Sendable, Hashable {
    /// The requests that wait.
    public private(set) var waiting = 0
    /// The numbers since the session began.
    public private(set) var counts = Counts()
    /// The places of concurrency limits.
    public private(set) var concurrency: [String: Places] = [:]
    /// The circuits.
    public private(set) var circuits: [String: Circuit] = [:]
    /// The time until a rate limit, or the server, permits the next request. Limits that permit one at once are left
    /// out.
    public private(set) var pauses: [String: Duration] = [:]
    /// The endpoints, in the order of their group.
    public fileprivate(set) var endpoints: [Endpoint] = []

    /// Numbers of attempts.
    public struct Counts: Sendable, Hashable {
        /// The attempts that were admitted. Always 0 if the session only hedges.
        public internal(set) var admitted = 0
        /// The attempts that had to wait, whatever their outcome.
        public internal(set) var waited = 0
        /// The attempts that failed with `.limited`.
        public internal(set) var limited = 0
        /// Of these, the ones that were shed for more important ones.
        public internal(set) var shed = 0
        /// The attempts that failed with `.circuitOpen`.
        public internal(set) var refusedByCircuit = 0
        /// The second copies that ``Hedging`` has sent. They are not among the attempts.
        public internal(set) var hedged = 0
        /// Of these, the ones whose response was used.
        public internal(set) var hedgesWon = 0

        mutating func add(_ verdict: AdmissionState.Verdict) {
            guard case .refused(let refusal) = verdict else { return admitted += 1 }
            switch refusal.cause {
            case .open, .probing: refusedByCircuit += 1
            case .rate, .places: limited += 1
            case .shed:
                limited += 1
                shed += 1
            }
        }
    }

    /// The places of a concurrency limit.
    public struct Places: Sendable, Hashable {
        /// The attempts in flight.
        public let inFlight: Int
        /// The number of attempts that may be in flight.
        public let limit: Int
    }

    /// An endpoint.
    public struct Endpoint: Sendable, Hashable {
        /// Its URL without secrets.
        public let url: URL
        /// The attempts in flight.
        public let outstanding: Int
        /// The time until a request is sent as a trial, zero once that is due. `nil` if the endpoint is not ejected.
        public let ejectedFor: Duration?
    }

    /// A circuit.
    public struct Circuit: Sendable, Hashable {
        /// The state of a circuit.
        public enum State: Sendable, Hashable {
            /// Requests are sent.
            case closed
            /// No request is sent for this time.
            case open(remaining: Duration)
            /// One request at a time is sent, as a probe.
            case halfOpen
        }

        /// The state.
        public let state: State
        /// The outcomes in the window.
        public let calls: Int
        /// The failures in the window.
        public let failures: Int
        /// The slow outcomes in the window.
        public let slow: Int
    }
}

extension ResilienceSnapshot {
    init(_ counts: Counts, _ admission: AdmissionState, at now: Duration) {
        self.counts = counts
        waiting = admission.waiting
        concurrency = admission.concurrency.mapValues { Places(inFlight: $0.inFlight, limit: $0.limit) }
        pauses = admission.pauses(at: now)
        circuits = admission.phases(at: now).mapValues { phase, counts in
            let state: Circuit.State =
                switch phase {
                case .closed: .closed
                // It becomes half-open when the next request asks.
                case .open(let until): until > now ? .open(remaining: until - now) : .halfOpen
                case .halfOpen: .halfOpen
                }
            return Circuit(state: state, calls: counts.calls, failures: counts.failures, slow: counts.slow)
        }
    }
}
