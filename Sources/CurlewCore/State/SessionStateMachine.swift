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
