/// Bytes both ways between two peers, in order, over TLS or not.
///
/// Nothing is read from the network while no `receive` waits, so a slow reader stops its peer.
package protocol ByteConnection: AnyObject, Sendable {
    /// What was measured while the connection was made: dates, addresses, TLS.
    var metrics: TransferMetrics { get }

    /// Where tasks that do little more than read and write do that soonest; nil for anywhere. They must not block.
    var executor: (any TaskExecutor)? { get }

    /// The next bytes, at least one; nil when the peer has ended its direction.
    ///
    /// Several calls at a time are answered in their order. A cancelled one throws `.cancelled` and takes no bytes.
    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]?

    /// Sends bytes behind those of earlier calls. Returns as soon as they are queued, where no more than the connection's send
    /// buffer is; otherwise once that is so.
    ///
    /// Cancelling ends the wait with `.cancelled`; the bytes are sent nevertheless. Whether the peer has got them is not known.
    func send(_ bytes: [UInt8]) async throws(CurlewError)

    /// Sends what the peer takes at once, on the calling thread, where nothing sent before waits; gives how many bytes that were.
    /// 0 also where this connection cannot do that, or has ended: `send` is for the rest.
    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Ends this direction once everything is sent; the peer reads an end, and may still answer.
    ///
    /// Over TLS it throws `.unsupported`: libcurl cannot close one direction there.
    func finishSending() async throws(CurlewError)

    /// Closes the connection at once. What was queued and not sent is dropped, and whatever waits ends with `.cancelled`.
    func close()
}

extension ByteConnection {
    package var executor: (any TaskExecutor)? { nil }

    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int { 0 }
}
