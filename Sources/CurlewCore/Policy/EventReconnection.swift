/// Decides whether and when a stream of server-sent events is opened again. Time and chance are passed in.
package struct EventReconnection: Sendable, Hashable {
    /// The delay until the server asks for another.
    package let delay: Duration
    /// Longest delay between two failed connections, and longest that a server may ask for.
    package let maximumDelay: Duration
    /// So many connections in a row may fail before the last error is thrown.
    package let maximumFailures: Int

    /// A server's own delay is no shorter than this, unless the client's is.
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
        /// Open again after this long.
        case reconnect(after: Duration)
        /// The server wants no further connection.
        case end
        /// Tell the reader.
        case fail
    }

    /// The connection gave bytes: earlier failures are forgotten.
    package mutating func streamed() { failures = 0 }

    /// The server has set the reconnection time. Neither may it have the client call without a pause, nor keep it
    /// from ever coming back.
    package mutating func serverAsked(for asked: Duration) {
        serverDelay = min(max(asked, min(delay, Self.shortestServerDelay)), maximumDelay)
    }

    /// The stream has ended in an orderly way.
    package mutating func ended(status: Int?) -> Action {
        // "No Content" is how a server tells its clients to stay away (HTML standard, 9.2.3).
        if status == 204 { return .end }
        failures = 0
        return .reconnect(after: serverDelay ?? delay)
    }

    /// The connection failed or broke. `random` in 0..<1 keeps a crowd of clients from coming back at once.
    package mutating func failed(with error: CurlewError, random: Double) -> Action {
        guard Self.mayPass(error) else { return .fail }
        failures += 1
        guard failures <= maximumFailures else { return .fail }
        let first = serverDelay ?? delay
        guard failures > 1 else { return .reconnect(after: first) }
        let doubled = first * (1 << min(failures - 1, 20))
        let ceiling = max(first, min(doubled, maximumDelay))
        // Between half and all of it.
        return .reconnect(after: ceiling * (0.5 + min(max(random, 0), 1) / 2))
    }

    /// Whether the next connection may do better.
    private static func mayPass(_ error: CurlewError) -> Bool {
        if error.isTimeout || error.isConnectivity { return true }
        guard error.code == .unacceptableStatus, let status = error.responseCode else { return false }
        switch status {
        case 408, 425, 429, 500, 502, 503, 504: return true
        default: return false
        }
    }
}
