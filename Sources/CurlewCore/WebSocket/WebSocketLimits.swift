/// The limits for the data that one side accepts from the other.
package struct WebSocketLimits: Sendable, Hashable {
    /// The most payload bytes of one frame, before decompression.
    package var frame: Int
    /// The most bytes of one message, after decompression.
    package var message: Int

    package static let standardMessageSize = 16 * 1024 * 1024

    package init(frame: Int, message: Int) {
        self.frame = frame
        self.message = message
    }

    /// Creates limits for messages of at most this size.
    package init(message: Int = Self.standardMessageSize) {
        let message = max(0, message)
        // Incompressible data grow by five bytes per 16 KiB, and by a few more at the end. The limit has some reserve.
        let growth = message / 2048 + 64
        self.init(
            frame: message.addingReportingOverflow(growth).overflow ? message : message + growth, message: message)
    }
}
