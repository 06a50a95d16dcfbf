/// The conditions under which a lost WebSocket is opened again, and the pauses before each attempt.
///
///     let socket = session.webSocket("wss://example.org/feed")
///         .reconnecting(ReconnectionPolicy(limit: 20)) { socket in try await socket.send("subscribe") }
///
/// Pauses double from `initialDelay` to `maximumDelay`. They are randomized, so that clients that were disconnected
/// together do not reconnect together.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The treatment of messages that are sent while there is no connection.
    public enum Sending: Sendable, Hashable {
        /// The message waits for the next connection.
        case waits
        /// Sending fails at once with the error that ended the connection.
        case fails
    }

    /// The randomization of pauses.
    public enum Jitter: Sendable, Hashable {
        /// No randomization.
        case none
        /// A random time between zero and the pause.
        case full
    }

    /// The codes of servers that stop, restart or are overloaded, and 1006, which represents a broken connection.
    /// Neither the ordinary codes 1000 and 1005 are included, nor codes that would recur: a protocol violation, a
    /// message that is not accepted, the codes of an application.
    @usableFromInline
    package static let defaultCloseCodes: Set<WebSocketCloseCode> = [
        .goingAway, .abnormalClosure, .internalServerError, .serviceRestart, .tryAgainLater, .badGateway,
    ]
    /// Failures to connect that may be temporary: those of the network, the name service, or a slow or restarting
    /// server.
    @usableFromInline
    package static let defaultErrorCodes: Set<CurlewError.Code> = [
        .resolveFailed, .connectFailed, .proxyFailed, .tlsFailed, .sendFailed, .receiveFailed, .truncated,
        .queueTimedOut, .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut,
    ]
    /// The statuses of a refused handshake that indicate a temporary failure.
    @usableFromInline
    package static let defaultStatusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    /// A policy with the default value of every property.
    package static let `default` = ReconnectionPolicy()

    /// The most consecutive attempts. A connection that stays open for `stableAfter` resets the count.
    public var limit: Int
    /// The pause before the first attempt, before randomization. A server's `Retry-After` can make it longer.
    public var initialDelay: Duration
    /// The upper limit of every pause, even if a server's `Retry-After` asks for more.
    public var maximumDelay: Duration
    /// The randomization of pauses. A pause that `Retry-After` asks for is not shortened by it.
    public var jitter: Jitter
    /// The time that a connection must stay open to reset the count of attempts. Without it, a server that accepts
    /// connections and closes them at once would be contacted forever.
    public var stableAfter: Duration
    /// The treatment of messages that are sent while there is no connection.
    public var sending: Sending
    /// The close codes after which the WebSocket is opened again.
    public var closeCodes: Set<WebSocketCloseCode>
    /// The errors of a failed opening after which another attempt is made.
    public var errorCodes: Set<CurlewError.Code>
    /// The statuses of a refused handshake after which another attempt is made.
    public var statusCodes: Set<Int>

    /// Creates a policy.
    public init(
        limit: Int = 10,
        initialDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(30),
        jitter: Jitter = .full,
        stableAfter: Duration = .seconds(10),
        sending: Sending = .waits,
        closeCodes: Set<WebSocketCloseCode> = ReconnectionPolicy.defaultCloseCodes,
        errorCodes: Set<CurlewError.Code> = ReconnectionPolicy.defaultErrorCodes,
        statusCodes: Set<Int> = ReconnectionPolicy.defaultStatusCodes
    ) {
        self.limit = limit
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
        self.jitter = jitter
        self.stableAfter = stableAfter
        self.sending = sending
        self.closeCodes = closeCodes
        self.errorCodes = errorCodes
        self.statusCodes = statusCodes
    }
}

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
