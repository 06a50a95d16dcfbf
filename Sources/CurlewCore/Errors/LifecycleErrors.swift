// Errors of requests that were ended by their user, their session, a retrier or a timeout.

extension CurlewError {
    /// The request was cancelled.
    package static var cancelled: CurlewError {
        CurlewError(.cancelled, phase: .lifecycle, reason: "Request explicitly cancelled.")
    }

    /// The last reference to the session was released.
    package static var sessionReleased: CurlewError {
        CurlewError(
            .sessionClosed,
            phase: .lifecycle,
            reason: "Session was deinitialized before the request ended; keep a reference to it.",
            detail: .released
        )
    }

    /// The session was invalidated.
    package static func sessionInvalidated(_ error: (any Error)? = nil) -> CurlewError {
        CurlewError(
            .sessionClosed,
            phase: .lifecycle,
            reason: "Session was invalidated" + (error.map { " with error: \(Explanation.of($0))" } ?? "."),
            underlying: error,
            detail: .invalidated
        )
    }

    /// The retrier returned an error. The facts about the attempt are those of `original`, the error that the retrier
    /// had to decide about.
    package static func retryFailed(_ error: any Error, original: any Error) -> CurlewError {
        var failure = CurlewError(
            .retryFailed,
            phase: .retry,
            reason: "Request retry failed with retry error: \(Explanation.of(error)), "
                + "original error: \(Explanation.of(original))",
            underlying: error,
            detail: .retry(of: original)
        )
        guard let original = original as? CurlewError else { return failure }
        failure.url = original.url
        failure.attempt = original.attempt
        failure.metrics = original.metrics
        failure.native = original.native
        failure.responseCode = original.responseCode
        failure.responseBody = original.responseBody
        failure.downloadResumeData = original.downloadResumeData
        return failure
    }
}

extension CurlewError {
    /// Names the timeout that expired, and its value.
    package static func timeoutReason(_ code: Code, after limit: Duration?) -> String {
        let (what, name) =
            switch code {
            case .queueTimedOut: ("no connection became free", "queue")
            case .connectTimedOut: ("the connection was not established", "connect")
            case .firstByteTimedOut: ("no response began", "first-byte")
            case .idleTimedOut: ("no byte was sent or received", "idle")
            default: ("the request did not end", "total")
            }
        return "\(what) within " + (limit.map { "\($0), the \(name) timeout" } ?? "the \(name) timeout")
    }
}

extension CurlewError {
    /// A limit of the session's resilience refused the request.
    package static func limited(_ reason: String, retryAfter: Duration?) -> CurlewError {
        notSent(.limited, reason, retryAfter)
    }

    /// The circuit breaker refused the request.
    package static func circuitOpen(_ reason: String, retryAfter: Duration?) -> CurlewError {
        notSent(.circuitOpen, reason, retryAfter)
    }

    private static func notSent(_ code: Code, _ reason: String, _ retryAfter: Duration?) -> CurlewError {
        var error = CurlewError(code, phase: .queue, reason: reason, isSafeToRetry: true)
        error.retryAfter = retryAfter
        return error
    }
}
