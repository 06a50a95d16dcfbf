public import CurlewCore

extension Session {
    /// Creates a WebSocket. The scheme is `ws`, `wss`, `http` or `https`. The connection is opened by the first call
    /// that uses it.
    ///
    /// Adapters, cookies, redirects, trust, proxies and monitors apply to the handshake as to any request. A response
    /// that opens no WebSocket is reported as `.webSocketRefused`, with its status and the beginning of its body.
    public nonisolated func webSocket(
        _ convertible: any URLConvertible,
        protocols: [String] = [],
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) -> WebSocketRequest {
        webSocket(
            PlainRequest(url: convertible, method: .get, headers: headers, modifier: nil),
            protocols: protocols,
            interceptor: interceptor,
            configure: configure
        )
    }

    /// Creates a WebSocket from a value that describes its handshake.
    public nonisolated func webSocket(
        _ convertible: any URLRequestConvertible,
        protocols: [String] = [],
        interceptor: (any RequestInterceptor)? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) -> WebSocketRequest {
        var options = configuration.webSocket
        configure(&options)
        return WebSocketRequest(
            convertible, protocols: protocols, options: options, session: self, interceptor: interceptor)
    }

    /// Creates a WebSocket with exactly these options.
    package nonisolated func webSocket(
        _ convertible: any URLRequestConvertible,
        protocols: [String],
        options: WebSocketOptions,
        interceptor: (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) -> WebSocketRequest {
        WebSocketRequest(
            convertible, protocols: protocols, options: options, session: self, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
