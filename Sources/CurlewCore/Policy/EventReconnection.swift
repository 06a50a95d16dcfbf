/// Decides whether and when a stream of server-sent events is opened again. Time and randomness are passed in.
package struct EventReconnection: Sendable, Hashable {
    /// The delay before a reconnection, unless the server has set another.
    package let delay: Duration
    /// The maximum delay, after failures and for a delay that the server sets.
    package let maximumDelay: Duration
    /// The maximum number of failures in a row. The next failure ends the stream with its error.
    package let maximumFailures: Int

    /// The minimum for a delay that the server sets, unless `delay` is shorter.
    package static let shortestServerDelay: Duration = .milliseconds(100)

    private var serverDelay: Duration?
    private var failures = 0

    package init(
        delay: Duration = .seconds(3),
        maximumDelay: Duration = .seconds(60),
        maximumFailures: Int = 10
    ) {
        self.delay = max(.zero, delay)
        self.maximumDelay = max(.zero, maximumDelay)
        self.maximumFailures = max(0, maximumFailures)
    }

    package enum Action: Hashable, Sendable {
        /// Open the stream again after this delay.
        case reconnect(after: Duration)
        /// End the stream, because the server wants no further connection.
        case end
        /// End the stream with the error.
        case fail
    }

    /// Call when the connection has delivered bytes: resets the count of failures.
    package mutating func streamed() { failures = 0 }

    /// Call when the server has set the reconnection time. The value is limited, so that a server can make the client
    /// neither reconnect without a pause nor stay away for good.
    package mutating func serverAsked(for asked: Duration) {
        serverDelay = min(max(asked, min(delay, Self.shortestServerDelay)), maximumDelay)
    }

    /// Call when the response ended in an orderly way, with its status.
    package mutating func ended(status: Int?) -> Action {
        // A server sends "No Content" to stop its clients from reconnecting (HTML standard, 9.2.3).
        if status == 204 { return .end }
        failures = 0
        return .reconnect(after: serverDelay ?? delay)
    }

    /// Call when the connection failed or broke. `random`, between 0 and 1, spreads the reconnections of many clients.
    package mutating func failed(with error: CurlewError, random: Double) -> Action {
        guard Self.mayPass(error) else { return .fail }
        failures += 1
        guard failures <= maximumFailures else { return .fail }
        let first = serverDelay ?? delay
        guard failures > 1 else { return .reconnect(after: first) }
        let doubled = first * (1 << min(failures - 1, 20))
        let ceiling = max(first, min(doubled, maximumDelay))
        // Between half of the ceiling and the ceiling.
        return .reconnect(after: ceiling * (0.5 + min(max(random, 0), 1) / 2))
    }

    /// Whether the failure may be temporary.
    private static func mayPass(_ error: CurlewError) -> Bool {
        if error.isTimeout || error.isConnectivity { return true }
        guard error.code == .unacceptableStatus, let status = error.responseCode else { return false }
        switch status {
        case 408, 425, 429, 500, 502, 503, 504: return true
        default: return false
        }
    }
}
