public import CurlewCore
internal import CurlewLocks

extension WebSocketRequest {
    /// Called with the WebSocket each time it has opened.
    typealias OpeningHook = @Sendable (WebSocketRequest) async throws -> Void

    /// Opens the WebSocket again when it is lost. Call it before the first `send`, `ping`, `opened()` or iteration.
    ///
    ///     let socket = session.webSocket("wss://example.org/feed").reconnecting { socket in
    ///         try await socket.send("subscribe")
    ///     }
    ///     for try await message in socket.messages { print(message) }
    ///
    /// `messages` continues over all connections. `onOpen` is called on each of them, including the first, before
    /// anything else is sent; an error that it throws ends the WebSocket. If the WebSocket could not be opened,
    /// retriers are asked before the policy.
    ///
    /// - Messages that had not arrived when a connection was lost are not sent again, and nothing tells which they are:
    ///   that takes acknowledgements by the server.
    /// - Every attempt adapts the request again, and has the timeouts of a first one.
    @discardableResult
    public func reconnecting(
        _ policy: ReconnectionPolicy = ReconnectionPolicy(),
        onOpen: (@Sendable (WebSocketRequest) async throws -> Void)? = nil
    ) -> Self {
        link.state.withLock { $0.reconnection = Reconnection(policy) }
        hook.withLock { $0 = onOpen }
        return self
    }
}
