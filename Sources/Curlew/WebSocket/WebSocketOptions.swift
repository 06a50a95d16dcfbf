internal import CurlewCore

/// The options of a WebSocket.
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

    /// The maximum size of a received message in bytes, after decompression. Unread messages may occupy as many bytes;
    /// beyond that the server is paused.
    public var maximumMessageSize = 16 * 1024 * 1024
    /// Whether messages are compressed.
    public var compression: Compression = .negotiated
    /// The time from a pong to the next automatic ping; `nil` for no automatic pings.
    public var pingInterval: Duration?
    /// The time that the server has for a pong; after that the WebSocket ends with `.idleTimedOut`. It does not run
    /// while the server is paused because messages are unread, and restarts while messages queued before the ping are
    /// being sent.
    public var pongTimeout: Duration = .seconds(20)
    /// The time that the closing handshake may take.
    public var closeTimeout: Duration = .seconds(5)
    /// The number of bytes that may wait to be sent; beyond it `send` waits. A single message may be larger.
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
