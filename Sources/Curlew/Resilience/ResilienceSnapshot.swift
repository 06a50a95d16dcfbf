internal import CurlewCore
public import Foundation

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
/// `https://api.example.com`, `session`, or the text of a key.
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
        /// The attempts that were admitted.
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
