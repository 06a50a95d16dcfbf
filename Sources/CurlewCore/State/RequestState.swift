/// How far a request has come.
public enum RequestState: Sendable, Hashable {
    /// Made, not started.
    case initialized
    /// Running.
    case resumed
    /// Held: no byte moves.
    case suspended
    /// Cancelled: it ends, or has ended, with `.cancelled`.
    case cancelled
    /// Ended, with a response or an error.
    case finished

    /// Whether a request in this state may go over to `next`.
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
