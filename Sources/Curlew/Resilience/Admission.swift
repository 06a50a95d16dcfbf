internal import CurlewCore

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
        /// More important requests wait.
        case shed
        /// The circuit is open, or its probe is in flight.
        case circuitOpen
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
        case .shed: "shed: more important requests wait"
        case .circuitOpen: later.isEmpty ? "the circuit waits for its probe" : "the circuit is open\(later)"
        }
    }
}

extension Admission {
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
