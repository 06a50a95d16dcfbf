package import CurlewCore

/// A connection that carries bytes both ways, and gives them no meaning.
package protocol WebSocketWire: AnyObject, Sendable {
    /// What was measured while the connection was made.
    var metrics: TransferMetrics { get }

    /// The next bytes, at least one; nil when the peer has ended its direction. A cancelled call throws `.cancelled`.
    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]?

    /// Sends bytes behind those of earlier calls; returns when they have been taken.
    func send(_ bytes: [UInt8]) async throws(CurlewError)

    /// Ends both directions at once, and whatever waits for them.
    func close()
}

/// A transport that makes such connections.
package protocol WebSocketConnector: Transport {
    /// A connection to the request's host, through its proxy, with TLS where the scheme is https.
    func connect(_ request: TransferRequest, sendBuffer: Int) async throws(CurlewError) -> any WebSocketWire
}
