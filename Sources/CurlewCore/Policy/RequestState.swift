/// The state of a request in its life cycle.
public enum RequestState: Sendable, Hashable {
    /// Created, but not started.
    case initialized
    /// Running.
    case resumed
    /// Suspended: no bytes are transferred.
    case suspended
    /// Cancelled. The request ends, or has ended, with `.cancelled`.
    case cancelled
    /// Ended with a response or an error.
    case finished

    /// Whether a request in this state may change to `next`.
    ///
    /// There is one more change, which no caller asks for: a response handler that is added after the end makes a
    /// finished request `.resumed` until the handler has run.
    package func canTransition(to next: RequestState) -> Bool {
        switch (self, next) {
        case (.initialized, .resumed), (.initialized, .suspended), (.initialized, .cancelled),
            (.initialized, .finished):
            true
        case (.resumed, .suspended), (.resumed, .cancelled), (.resumed, .finished): true
        case (.suspended, .resumed), (.suspended, .cancelled), (.suspended, .finished): true
        case (.initialized, .initialized), (.resumed, .initialized), (.suspended, .initialized),
            (.resumed, .resumed), (.suspended, .suspended):
            false
        case (.cancelled, _), (.finished, _): false
        }
    }
}
