/// A transport that also opens connections for protocols that begin as HTTP and go on as something else.
///
/// Everything on the way to the server is that of an exchange: names, proxies, TLS, pins, address policy, limits on time.
package protocol ConnectTransport: Transport {
    /// Connects to the server of the request's URL, over TLS where its scheme is `https`. Nothing of the request is sent.
    ///
    /// Ends with the connection up, or with the error that an exchange would have had. Cancelling the calling task gives the
    /// attempt up. The connection is closed when the last reference to it goes, and by the transport's `shutdown`.
    ///
    /// - Parameter sendBuffer: How many bytes may wait to be sent before `send` makes its caller wait.
    func connect(_ request: TransferRequest, sendBuffer: Int) async throws(CurlewError) -> any ByteConnection
}

extension ConnectTransport {
    /// Connects with a send buffer of 256 KiB.
    package func connect(_ request: TransferRequest) async throws(CurlewError) -> any ByteConnection {
        try await connect(request, sendBuffer: 256 * 1024)
    }
}
