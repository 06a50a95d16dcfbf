public import Curlew
internal import Foundation

extension Session {
    /// Creates a WebSocket. As in Alamofire, it starts with its first handler.
    public nonisolated func webSocketRequest(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocketRequest(
            to: url,
            configuration: configuration,
            parameters: Empty?.none,
            headers: headers,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            requestModifier: requestModifier
        )
    }

    /// Creates a WebSocket with parameters in its URL.
    public nonisolated func webSocketRequest<Parameters: Encodable & Sendable>(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocketRequest(
            performing: WebSocketDescription(
                url: url, parameters: parameters, encoder: encoder, headers: headers, modifier: requestModifier),
            configuration: configuration,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a WebSocket whose opening request is described by a value.
    public nonisolated func webSocketRequest(
        performing convertible: any URLRequestConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> WebSocketRequest {
        var options = self.configuration.webSocket
        options.maximumMessageSize = configuration.maximumMessageSize
        if let interval = configuration.pingInterval { options.pingInterval = .bounded(seconds: interval) }
        return webSocket(
            convertible,
            protocols: configuration.protocol.map { [$0] } ?? [],
            options: options,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }
}

/// A URL, with parameters as an `Encodable` value if there are any.
private struct WebSocketDescription<Parameters: Encodable & Sendable>: URLRequestConvertible {
    let url: any URLConvertible
    let parameters: Parameters?
    let encoder: any ParameterEncoder
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: .get, headers: headers)
        try modifier?(&request)
        guard let parameters else { return request }
        return try encoder.encode(parameters, into: request)
    }
}
