extension CurlewError {
    package static func webSocketClosed(_ code: WebSocketCloseCode, reason: String?) -> CurlewError {
        var error = CurlewError(
            .webSocketClosed, phase: .receive,
            reason: code == .abnormalClosure
                ? "the connection ended without a close frame" : "the peer closed the WebSocket with code \(code)")
        error.closeCode = code
        error.closeReason = reason
        return error
    }
}
