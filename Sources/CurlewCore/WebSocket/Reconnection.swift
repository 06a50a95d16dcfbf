/// Decides whether a WebSocket is opened again, and when. It performs no work itself: the caller reports events and
/// passes the time and a source of randomness.
package struct Reconnection: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package let policy: ReconnectionPolicy
    /// The number of consecutive attempts since a connection last stayed open for `stableAfter`.
    private var attempts = 0
    private var opened: Instant?

    package init(_ policy: ReconnectionPolicy) { self.policy = policy }

    package mutating func connectionOpened(at now: Instant) { opened = now }

    /// An open connection has ended. Returns the pause before the next attempt, or `nil` for none.
    package mutating func connectionEnded(
        _ ending: WebSocketEnding, at now: Instant, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        if let opened, now - opened >= policy.stableAfter { attempts = 0 }
        opened = nil
        guard reconnects(after: ending) else { return nil }
        return nextPause(using: &random)
    }

    /// A connection could not be opened. `retryAfter` is the server's `Retry-After`. Returns the pause before the next
    /// attempt, or `nil` for none.
    package mutating func openingFailed(
        _ error: CurlewError, retryAfter: Duration? = nil, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard reconnects(after: error) else { return nil }
        return nextPause(retryAfter: retryAfter, using: &random)
    }

    private func reconnects(after ending: WebSocketEnding) -> Bool {
        switch ending {
        case .closed(let code, _, byPeer: true): policy.closeCodes.contains(code)
        case .cut, .broken, .silent: policy.closeCodes.contains(.abnormalClosure)
        // This side has closed the WebSocket, or the peer would break the protocol again.
        case .closed(_, _, byPeer: false), .unanswered, .violated: false
        }
    }

    private func reconnects(after error: CurlewError) -> Bool {
        if error.code == .webSocketRefused { return error.responseCode.map(policy.statusCodes.contains) ?? false }
        return policy.errorCodes.contains(error.code)
    }

    private mutating func nextPause(
        retryAfter: Duration? = nil, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempts < policy.limit else { return nil }
        defer { attempts += 1 }
        let backoff = Backoff(
            base: 2, scale: policy.initialDelay / .seconds(1), maximum: policy.maximumDelay,
            jitter: policy.jitter == .full ? .full : .none)
        return backoff.delay(beforeRetry: attempts, retryAfter: retryAfter, using: &random)
    }
}
