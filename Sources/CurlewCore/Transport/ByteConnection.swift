/// An ordered stream of bytes in both directions between two peers, with or without TLS.
///
/// Nothing is read from the network unless a `receive` waits, so a slow reader makes its peer wait.
package protocol ByteConnection: AnyObject, Sendable {
    /// The measurements from connecting: dates, addresses, TLS.
    var metrics: TransferMetrics { get }

    /// The executor on which tasks that mainly read and write run with the least delay; `nil` if there is none. Such
    /// tasks must not block.
    var executor: (any TaskExecutor)? { get }

    /// Returns the next bytes, at least one; `nil` when the peer has ended its direction.
    ///
    /// Concurrent calls are answered in order. A cancelled call throws `.cancelled` and consumes no bytes.
    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]?

    /// Sends bytes after those of earlier calls. Returns once no more bytes are queued than the send buffer holds,
    /// which may be at once.
    ///
    /// Cancelling ends the wait with `.cancelled`, but the bytes are sent nevertheless. A return does not mean that the
    /// peer has received them.
    func send(_ bytes: [UInt8]) async throws(CurlewError)

    /// Sends on the calling thread the bytes that the socket accepts without waiting, if no earlier bytes are queued.
    /// Returns their number, which is 0 if the connection does not support this or has ended. Pass the rest to `send`.
    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Ends this direction after everything queued has been sent. The peer reads the end, and may still send.
    ///
    /// Throws `.unsupported` over TLS, because libcurl cannot close one direction of a TLS connection.
    func finishSending() async throws(CurlewError)

    /// Closes the connection at once. Queued bytes are dropped, and calls that wait throw `.cancelled`.
    func close()
}

extension ByteConnection {
    package var executor: (any TaskExecutor)? { nil }

    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int { 0 }
}

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
