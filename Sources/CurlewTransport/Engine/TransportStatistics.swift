/// Numbers for leak checks and curiosity, as of the loop's last turn.
public struct TransportStatistics: Sendable, Equatable {
    /// Transfers that have begun and not ended.
    public var liveTransfers = 0
    /// Handles that a transfer uses at this moment.
    public var easyHandlesInUse = 0
    /// Handles kept for the next request.
    public var easyHandlesIdle = 0
    /// Sockets that are open, in use or idle.
    public var openSockets = 0
    /// Sockets ever opened.
    public var connectionsMade = 0
    /// Transfers that have ended since the start.
    public var transfersEnded = 0
    /// How often the loop went round, not counting the turns that callers have borrowed.
    public var loopTurns = 0
    /// Byte connections that are open.
    package var byteConnections = 0

    /// Creates statistics of zeros.
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
