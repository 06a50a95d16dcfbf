/// Whether a session takes requests.
package struct SessionStateMachine: Sendable {
    package enum State: Sendable, Equatable {
        case open
        /// The running requests may end, new ones are refused.
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

    /// Whether this was the first time.
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
