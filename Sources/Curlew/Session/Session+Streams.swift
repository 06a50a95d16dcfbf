public import CurlewCore
internal import FoundationNetworking

// Streams: the body is consumed while it arrives.
extension Session {
    /// Creates a streamed request with an `Encodable` value as its parameters.
    public nonisolated func streamRequest<P: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: P? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            EncodableRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoder: encoder,
                headers: headers,
                modifier: requestModifier
            ),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request without parameters.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request from a value that can be converted to a `URLRequest`.
    public nonisolated func streamRequest(
        _ convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            convertible,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError
        )
    }

    // MARK: Bodies

    /// Creates a streamed request that sends a body. The response is delivered while it arrives, even before the body
    /// has been sent.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .post,
        body: RequestBody,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            body: body,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a streamed request from a value that can be converted to a `URLRequest`. `body` replaces the one inside
    /// it.
    public nonisolated func streamRequest(
        _ convertible: any URLRequestConvertible,
        body: RequestBody,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            body.contentType.map { FormRequest(request: convertible, contentType: $0) } ?? convertible,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            uploadable: body.makeUploadable
        )
    }
}

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
