/// The conditions under which a lost WebSocket is opened again, and the pauses before.
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
