public import Foundation

/// A message of a WebSocket.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text, transferred as UTF-8.
    case text(String)
    /// Binary data.
    case data(Data)
}
