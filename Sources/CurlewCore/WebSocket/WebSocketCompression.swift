/// What permessage-deflate needs of a compression library. The core has none.
package protocol WebSocketCompressor: AnyObject, Sendable {
    /// Appends a whole message, compressed, without the four bytes that end every flush (RFC 7692, 7.2.1).
    ///
    /// False where it cannot: the message is then sent as it is.
    func compress(_ message: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Bool
}

/// The other direction.
package protocol WebSocketDecompressor: AnyObject, Sendable {
    /// Appends what `bytes` decompress to. Stops with `.messageTooBig` before `output` holds more than `limit` bytes.
    func decompress(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(WebSocketViolation)

    /// The message has ended: the four bytes that its sender left out are to be supplied.
    func finishMessage(into output: inout [UInt8], limit: Int) throws(WebSocketViolation)
}
