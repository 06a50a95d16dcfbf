/// The end of an attempt, as circuit breakers and adaptive limits see it.
///
/// Attempts that were cancelled, failed on this side, or were served from a cache have no outcome.
public struct AttemptOutcome: Sendable {
    /// The status of the response; `nil` if there was none.
    public var status: Int?
    /// The error; `nil` if the attempt has succeeded.
    public var error: CurlewError?
    /// The time until the response began, or until the attempt failed.
    public var latency: Duration

    /// Creates an outcome.
    public init(status: Int? = nil, error: CurlewError? = nil, latency: Duration = .zero) {
        self.status = status
        self.error = error
        self.latency = latency
    }

    /// Whether the server could not be reached, did not respond in time, broke the protocol, or has responded with a
    /// status of 500 or above, other than 501. The default of ``CircuitBreaker``.
    public var isServerFailure: Bool {
        if let error {
            if error.isTimeout || error.isConnectivity || error.isTLS { return true }
            if error.code == .protocolViolation || error.code == .contentDecodingFailed { return true }
        }
        return status.map { $0 >= 500 && $0 != 501 } ?? false
    }

    /// Whether the server had more requests than it can serve: it was too slow, or said so (429, 503).
    package var isOverload: Bool {
        error?.isTimeout == true || status == 429 || status == 503
    }
}
