/// A message or a control frame from the peer.
package enum WebSocketEvent: Sendable, Equatable {
    case message(WebSocketMessage)
    case ping([UInt8])
    case pong([UInt8])
    /// A close frame; the code is `nil` if the frame had none. Everything after it is ignored.
    case close(WebSocketCloseCode?, reason: String)
}
