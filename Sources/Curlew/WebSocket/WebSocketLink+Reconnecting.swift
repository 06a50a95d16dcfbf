internal import CurlewCore
internal import CurlewLocks

extension WebSocketLink {
    /// The pause before the WebSocket is opened again; `nil` if it is not. `failure` is set if it could not be opened.
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

    /// Whether another connection has followed `opening`, or may follow it. Its senders then wait for that one.
    func follows(_ opening: Opening) -> Bool {
        state.withLock { state in
            guard case .success(let current)? = state.opening.value else { return state.mayReconnect }
            return current.outbox !== opening.outbox
        }
    }

    /// The connection for sends and pings. Waits until one is open; throws instead if a connection was lost and the
    /// policy says that sending fails meanwhile.
    func usableOpening() async throws(CurlewError) -> Opening {
        let (current, refuses) = state.withLock { state in
            let isLost = state.lastOpening != nil && state.opening.value == nil
            return (state.opening, isLost && state.reconnection?.policy.sending == .fails)
        }
        if refuses { throw refusal }
        return try await opening(of: current)
    }

    /// Waits for the result of an opening.
    func opening(of shot: OpeningResult) async throws(CurlewError) -> Opening {
        // Most callers find the connection open and need not wait.
        if let result = shot.value { return try result.get() }
        guard let result = await shot.wait() else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the waiting task was cancelled")
        }
        return try result.get()
    }
}

/// The connection that the hook of a WebSocket prepares. The hook's own sends and pings use it before other callers
/// may.
struct PreparedConnection: Sendable {
    let link: WebSocketLink
    let opening: WebSocketLink.Opening

    @TaskLocal static var current: PreparedConnection?
}
