/// The settings of TCP keep-alive, which detects that the peer of a silent connection has vanished.
///
/// After `idle` without a byte, the system sends a probe every `interval`. After `probes` unanswered probes it ends the
/// connection.
///
/// ```swift
/// let session = Session(configuration: SessionConfiguration { $0.keepAlive = KeepAlive(idle: .seconds(15)) })
/// ```
///
/// The system counts in whole seconds. While sent bytes are unacknowledged, it sends no probes: it sends the bytes
/// again, and gives up after about 15 minutes. The peer's system answers probes even if the server hangs. Timeouts
/// cover both cases.
public struct KeepAlive: Sendable, Hashable {
    /// The time without a byte before the first probe.
    public var idle: Duration
    /// The time between two probes.
    public var interval: Duration
    /// The number of unanswered probes in a row after which the connection ends.
    public var probes: Int

    /// Creates settings. With the default values, a vanished peer is detected after two and a half minutes.
    public init(idle: Duration = .seconds(60), interval: Duration = .seconds(30), probes: Int = 3) {
        self.idle = idle
        self.interval = interval
        self.probes = probes
    }
}
