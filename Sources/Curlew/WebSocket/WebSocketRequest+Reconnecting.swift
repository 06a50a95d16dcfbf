public import CurlewCore
internal import CurlewLocks

extension WebSocketRequest {
    /// Called with the WebSocket each time that it is open.
    public typealias OpeningHook = @Sendable (WebSocketRequest) async throws -> Void

    /// Opens the WebSocket again when it is lost. To be called before the first verb.
    ///
    ///     let socket = session.webSocket("wss://example.org/feed").reconnecting { socket in
    ///         try await socket.send("subscribe")
    ///     }
    ///     for try await message in socket.messages { print(message) }
    ///
    /// `messages` go on over all connections. `onOpen` is called on each, the first one too, before anything else is sent; an
    /// error that it throws ends the WebSocket. Retriers are asked before the policy where the WebSocket could not be opened.
    ///
    /// - What was sent and had not arrived when a connection was lost is not sent again, nor does anything tell which
    ///   messages those are: that takes answers of the server's.
    /// - Every attempt adapts the request anew, and has the time limits of a first one.
    @discardableResult
    public func reconnecting(_ policy: ReconnectionPolicy = .default, onOpen: OpeningHook? = nil) -> Self {
        link.state.withLock { $0.reconnection = Reconnection(policy) }
        hook.withLock { $0 = onOpen }
        return self
    }
}
