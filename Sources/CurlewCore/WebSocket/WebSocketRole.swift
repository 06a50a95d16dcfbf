/// One end of a connection.
package enum WebSocketRole: Sendable {
    case client, server

    /// Whether this end masks its frames: a client masks every frame, a server none (RFC 6455, 5.1).
    package var masksWhatItSends: Bool {
        switch self {
        case .client: true
        case .server: false
        }
    }
}
