/// A transport that can also open connections for protocols that begin with HTTP and continue with another protocol.
///
/// The connection follows the rules of an exchange: name resolution, proxies, TLS, pins, address policy, timeouts.
package protocol ConnectTransport: Transport {
    /// Connects to the server of the request's URL, with TLS if its scheme is `https`. Nothing of the request is sent.
    ///
    /// Returns an established connection, or throws the error that an exchange would throw. Cancelling the calling task
    /// abandons the attempt. The connection closes when its last reference is released, or with the transport's
    /// `shutdown`.
    ///
    /// - Parameter sendBuffer: The number of bytes that may be queued before `send` makes its caller wait.
    func connect(_ request: TransferRequest, sendBuffer: Int) async throws(CurlewError) -> any ByteConnection
}

extension ConnectTransport {
    /// Connects with a send buffer of 256 KiB.
    package func connect(_ request: TransferRequest) async throws(CurlewError) -> any ByteConnection {
        try await connect(request, sendBuffer: 256 * 1024)
    }
}
