internal import CurlewCore

/// How a WebSocket behaves.
///
///     let socket = session.webSocket("wss://example.org/feed") { $0.pingInterval = .seconds(30) }
public struct WebSocketOptions: Sendable, Hashable {
    /// Whether messages are compressed.
    public enum Compression: Sendable, Hashable {
        /// Messages are compressed if the server agrees (permessage-deflate, RFC 7692).
        case negotiated
        /// Messages are never compressed.
        case off
    }

    /// Most bytes of a message that is received, after decompression. As many may be held that were not read; then the
    /// server is stopped.
    public var maximumMessageSize = 16 * 1024 * 1024
    /// Whether messages are compressed.
    public var compression: Compression = .negotiated
    /// How long after a pong the next ping goes out by itself; nil for none.
    public var pingInterval: Duration?
    /// How long a pong may take: then the WebSocket ends with `.idleTimedOut`. Not counted while the server is stopped
    /// because messages are not read, and from the start again while messages before the ping are being sent.
    public var pongTimeout: Duration = .seconds(20)
    /// How long the closing handshake may take.
    public var closeTimeout: Duration = .seconds(5)
    /// Bytes that may wait to be sent; above this `send` waits. One message may be larger.
    public var sendBuffer = 1024 * 1024

    /// Creates options; each parameter has a default.
    public init(
        maximumMessageSize: Int = 16 * 1024 * 1024,
        compression: Compression = .negotiated,
        pingInterval: Duration? = nil,
        pongTimeout: Duration = .seconds(20),
        closeTimeout: Duration = .seconds(5),
        sendBuffer: Int = 1024 * 1024
    ) {
        self.maximumMessageSize = maximumMessageSize
        self.compression = compression
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.sendBuffer = sendBuffer
    }

    var clocks: WebSocketStateMachine.Clocks {
        .init(pingInterval: pingInterval, pongTimeout: pongTimeout, closeTimeout: closeTimeout)
    }
}
