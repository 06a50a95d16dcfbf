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

/// Identifies one exchange of a request: each retry and each followed redirect has a new identifier.
///
/// `await session[identifier]` returns the request whose current exchange it identifies.
public struct TaskIdentifier: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    public var description: String { String(rawValue) }
}

/// The life cycle of a session, which determines whether it accepts requests.
package struct SessionStateMachine: Sendable {
    package enum State: Sendable, Equatable {
        case open
        /// Running requests may finish; new ones are refused.
        case draining
        case closed
    }

    package private(set) var state: State = .open

    package init() {}

    package mutating func drainBegan() {
        switch state {
        case .open: state = .draining
        case .draining, .closed: break
        }
    }

    /// Closes the session. Returns whether it was open or draining before.
    package mutating func closed() -> Bool {
        switch state {
        case .open, .draining:
            state = .closed
            return true
        case .closed: return false
        }
    }

    package var isClosed: Bool { state == .closed }

    package var takesRequests: Bool {
        switch state {
        case .open: true
        case .draining, .closed: false
        }
    }
}
