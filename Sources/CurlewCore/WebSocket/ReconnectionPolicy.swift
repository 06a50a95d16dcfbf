/// When a WebSocket that was lost is opened again, and how long it waits before.
///
///     let socket = session.webSocket("wss://example.org/feed")
///         .reconnecting(ReconnectionPolicy(limit: 20)) { socket in try await socket.send("subscribe") }
///
/// Pauses double from `initialDelay` to `maximumDelay`, and are spread, so that clients that were cut off together do not come
/// back together.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// What a message does that is sent while there is no connection.
    public enum Sending: Sendable, Hashable {
        /// It waits for the next connection.
        case waits
        /// It fails at once with the error that ended the connection.
        case fails
    }

    /// How pauses are randomized.
    public enum Jitter: Sendable, Hashable {
        /// Not at all.
        case none
        /// Anything between nothing and the pause.
        case full
    }

    /// Those of servers that stop, restart or are overloaded, and 1006, which stands for a connection that broke. Not the ordinary
    /// ends 1000 and 1005, nor codes that would come again: a broken rule, a message that is not accepted, an application's own.
    public static let defaultCloseCodes: Set<WebSocketCloseCode> = [
        .goingAway, .abnormalClosure, .internalServerError, .serviceRestart, .tryAgainLater, .badGateway,
    ]
    /// What may pass while a connection is made: the network, the name service, a slow or restarting server.
    public static let defaultErrorCodes: Set<CurlewError.Code> = [
        .resolveFailed, .connectFailed, .proxyFailed, .tlsFailed, .sendFailed, .receiveFailed, .truncated,
        .queueTimedOut, .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut,
    ]
    /// The statuses of a refused opening that tell of a passing trouble.
    public static let defaultStatusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    /// The default of every property.
    public static let `default` = ReconnectionPolicy()

    /// How many attempts in a row may fail. A connection that was open for `stableAfter` ends the row.
    public var limit: Int
    /// The longest pause before the first attempt.
    public var initialDelay: Duration
    /// No pause is longer, whatever a server's `Retry-After` asks for.
    public var maximumDelay: Duration
    /// How pauses are randomized.
    public var jitter: Jitter
    /// How long a connection must have been open to count as a success: a server that accepts and hangs up is not asked for ever.
    public var stableAfter: Duration
    /// What a message does that is sent while there is no connection.
    public var sending: Sending
    /// The close codes after which the WebSocket is opened again.
    public var closeCodes: Set<WebSocketCloseCode>
    /// The failures to open it after which it is tried again.
    public var errorCodes: Set<CurlewError.Code>
    /// The statuses of a refused opening after which it is tried again.
    public var statusCodes: Set<Int>

    /// Creates a policy; see the properties for what the defaults are.
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
