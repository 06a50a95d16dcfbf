/// The compressor of permessage-deflate, implemented outside of the core, which has no compression library.
package protocol WebSocketCompressor: AnyObject, Sendable {
    /// Appends a whole message, compressed, without the four bytes that end every flush (RFC 7692, 7.2.1).
    ///
    /// Returns `false` if the message could not be compressed. It is then sent uncompressed.
    func compress(_ message: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Bool
}

/// The decompressor of permessage-deflate.
package protocol WebSocketDecompressor: AnyObject, Sendable {
    /// Appends the decompressed `bytes`. Throws `.messageTooBig` before `output` exceeds `limit` bytes.
    func decompress(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(WebSocketViolation)

    /// Ends a message. The decompressor supplies the four bytes that the sender has omitted.
    func finishMessage(into output: inout [UInt8], limit: Int) throws(WebSocketViolation)
}
