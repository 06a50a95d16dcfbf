/// How much one side accepts of the other.
package struct WebSocketLimits: Sendable, Hashable {
    /// Most bytes of one frame, as it is on the wire.
    package var frame: Int
    /// Most bytes of one message, after decompression.
    package var message: Int

    package static let standardMessageSize = 16 * 1024 * 1024

    package init(frame: Int, message: Int) {
        self.frame = frame
        self.message = message
    }

    /// The limits that go with messages of at most this size.
    package init(message: Int = Self.standardMessageSize) {
        let message = max(0, message)
        // What does not compress grows by five bytes for every 16 KiB, and by a few more at the end.
        let growth = message / 2048 + 64
        self.init(
            frame: message.addingReportingOverflow(growth).overflow ? message : message + growth, message: message)
    }
}
