package import Foundation

/// One message of a WebSocket.
package enum WebSocketMessage: Sendable, Hashable {
    /// Text; on the wire it is UTF-8.
    case text(String)
    /// Bytes.
    case data(Data)
}
