/// Counters of a transport as of its loop's last turn, for leak checks and diagnostics.
public struct TransportStatistics: Sendable, Equatable {
    /// Transfers that have started and not ended.
    public var liveTransfers = 0
    /// Handles that a transfer is using.
    public var easyHandlesInUse = 0
    /// Handles kept for later requests.
    public var easyHandlesIdle = 0
    /// Sockets that are open, in use or idle.
    public var openSockets = 0
    /// Sockets opened since the start.
    public var connectionsMade = 0
    /// Transfers that have ended since the start.
    public var transfersEnded = 0
    /// Turns of the loop thread, without the turns that callers have borrowed.
    public var loopTurns = 0
    /// Byte connections that are open.
    package var byteConnections = 0

    /// Creates statistics with all counters at zero.
    public init() {}

    init(
        liveTransfers: Int, easyHandlesInUse: Int, easyHandlesIdle: Int, openSockets: Int, connectionsMade: Int,
        transfersEnded: Int, loopTurns: Int, byteConnections: Int
    ) {
        (self.liveTransfers, self.transfersEnded, self.loopTurns) = (liveTransfers, transfersEnded, loopTurns)
        (self.easyHandlesInUse, self.easyHandlesIdle) = (easyHandlesInUse, easyHandlesIdle)
        self.byteConnections = byteConnections
        (self.openSockets, self.connectionsMade) = (openSockets, connectionsMade)
    }
}
