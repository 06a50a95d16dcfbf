public import Foundation

/// One message of a WebSocket.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text; on the wire it is UTF-8.
    case text(String)
    /// Bytes.
    case data(Data)
}
