/// TCP keep-alive, which finds out that the peer of a silent connection has vanished.
///
/// After `idle` without a byte the system sends a probe every `interval`. It ends the connection after `probes` of them without an answer.
///
/// ```swift
/// let session = Session(configuration: SessionConfiguration { $0.keepAlive = KeepAlive(idle: .seconds(15)) })
/// ```
///
/// The system counts in whole seconds. It sends no probes while sent bytes are unacknowledged: it sends those again
/// instead, and gives up after about 15 minutes. And the peer's system answers probes even if the server is stuck.
/// Timeouts cover both.
public struct KeepAlive: Sendable, Hashable {
    /// How long a connection must be silent before the first probe.
    public var idle: Duration
    /// The time between two probes.
    public var interval: Duration
    /// How many probes in a row may go without an answer.
    public var probes: Int

    /// Creates settings; a peer that has vanished is noticed after two and a half minutes by default.
    public init(idle: Duration = .seconds(60), interval: Duration = .seconds(30), probes: Int = 3) {
        self.idle = idle
        self.interval = interval
        self.probes = probes
    }
}
