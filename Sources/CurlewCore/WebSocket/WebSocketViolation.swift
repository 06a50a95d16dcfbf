/// A violation by the peer, and the code with which the connection is closed because of it.
package struct WebSocketViolation: Error, Equatable {
    package let closeCode: WebSocketCloseCode
    package let reason: String

    package init(_ closeCode: WebSocketCloseCode, _ reason: String) {
        self.closeCode = closeCode
        self.reason = reason
    }

    static func brokenProtocol(_ reason: String) -> Self { Self(.protocolError, reason) }

    static func tooBig(_ what: String, limit: Int) -> Self {
        Self(.messageTooBig, "\(what) is larger than \(limit) bytes")
    }

    package var error: CurlewError {
        CurlewError(
            closeCode == .messageTooBig ? .limitExceeded : .protocolViolation, phase: .receive, reason: reason)
    }
}
