/// TCP keep-alive, which finds out that the peer of a silent connection has vanished.
///
/// After `idle` without a byte the system sends a probe every `interval`. It ends the connection after `probes` of them without an answer.
///
/// ```swift
/// let session = Session(configuration: SessionConfiguration { $0.keepAlive = KeepAlive(idle: .seconds(15)) })
/// ```
///
/// The system counts in whole seconds. Probes are answered by the peer's system, so a server that is stuck goes on being waited for:
/// that is what timeouts are for.
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
