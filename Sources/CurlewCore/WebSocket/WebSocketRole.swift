/// Which end of the connection this side is.
package enum WebSocketRole: Sendable {
    case client, server

    /// A client masks every frame, a server none (RFC 6455, 5.1).
    package var masksWhatItSends: Bool {
        switch self {
        case .client: true
        case .server: false
        }
    }
}
