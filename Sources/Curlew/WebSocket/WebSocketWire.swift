package import CurlewCore
package import Foundation

/// A connection that carries bytes both ways, and gives them no meaning.
package protocol WebSocketWire: AnyObject, Sendable {
    /// The next bytes, nil at the end. One task at a time; cancelling it ends the wait with `.cancelled`.
    func receive() async throws(CurlewError) -> Data?

    /// Sends the bytes; returns when there is room for more. One task at a time.
    func send(_ bytes: [UInt8]) async throws(CurlewError)

    /// Ends both directions at once, and whatever waits for them.
    func close()
}

/// A transport that makes such connections.
package protocol WebSocketConnector: Transport {
    /// A connection to the request's host, through its proxy, with TLS where the scheme is https.
    func connect(_ request: TransferRequest) async throws(CurlewError) -> any WebSocketWire
}
