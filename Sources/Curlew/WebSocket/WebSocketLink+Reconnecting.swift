internal import CurlewCore
internal import CurlewLocks

extension WebSocketLink {
    /// The pause before the WebSocket is opened once more, nil where it is not. `failure` is why it could not be opened.
    func pauseBeforeReconnecting(after failure: CurlewError?, retryAfter: Duration?) -> Duration? {
        state.withLock { state in
            guard state.mayReconnect, var reconnection = state.reconnection else { return nil }
            var random = SystemRandom()
            let pause: Duration?
            if let ending = state.machine?.ending {
                pause = reconnection.connectionEnded(ending, at: .now, using: &random)
            } else if let failure {
                pause = reconnection.openingFailed(failure, retryAfter: retryAfter, using: &random)
            } else {
                pause = nil
            }
            state.reconnection = reconnection
            if pause != nil, let machine = exchange(&state.machine, with: nil) {
                state.lastEnding = machine.ending
                state.outbox = nil
            }
            return pause
        }
    }

    /// Whether another connection may follow that one: its verbs wait for the next.
    func follows(_ opening: Opening) -> Bool {
        state.withLock { state in
            guard case .success(let current)? = state.opening.value else { return state.mayReconnect }
            return current.outbox !== opening.outbox
        }
    }

    /// What sends and pings use: at once where there is a connection, otherwise after a wait, if the policy wants that.
    func usableOpening() async throws(CurlewError) -> Opening {
        let (current, refuses) = state.withLock { state in
            let isLost = state.lastOpening != nil && state.opening.value == nil
            return (state.opening, isLost && state.reconnection?.policy.sending == .fails)
        }
        if refuses { throw refusal }
        return try await opening(of: current)
    }

    /// Waits for what that opening leads to.
    func opening(of shot: OpeningResult) async throws(CurlewError) -> Opening {
        // No wait where there is nothing to wait for: most verbs find the connection open.
        if let result = shot.value { return try result.get() }
        guard let result = await shot.wait() else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the waiting task was cancelled")
        }
        return try result.get()
    }
}

/// The connection that the hook of a WebSocket prepares. Its own verbs use it before others may.
struct PreparedConnection: Sendable {
    let link: WebSocketLink
    let opening: WebSocketLink.Opening

    @TaskLocal static var current: PreparedConnection?
}
