extension CurlewError {
    /// Creates the error of a closed WebSocket. `byPeer` is `false` if this side has closed it.
    package static func webSocketClosed(
        _ code: WebSocketCloseCode, reason: String?, byPeer: Bool = true
    ) -> CurlewError {
        let text =
            if !byPeer {
                "this side has closed the WebSocket"
            } else if code == .abnormalClosure {
                "the connection ended without a close frame"
            } else {
                "the peer closed the WebSocket with code \(code)"
            }
        var error = CurlewError(.webSocketClosed, phase: .receive, reason: text)
        error.closeCode = code
        error.closeReason = reason
        return error
    }
}
