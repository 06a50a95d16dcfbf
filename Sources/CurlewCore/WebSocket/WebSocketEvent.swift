/// What the peer has sent.
package enum WebSocketEvent: Sendable, Equatable {
    case message(WebSocketMessage)
    case ping([UInt8])
    case pong([UInt8])
    /// nil where the frame had no code. Nothing that follows it counts.
    case close(WebSocketCloseCode?, reason: String)
}
