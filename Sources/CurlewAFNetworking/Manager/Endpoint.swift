public import Curlew
internal import Foundation

/// One operation of a service, as a value: the request to send, and the type of the response.
///
///     extension Endpoint where Value == User {
///         static func user(_ id: Int) -> Endpoint { Endpoint("users/\(id)") }
///     }
///     let user = try await client.send(.user(1))
public struct Endpoint<Value: Decodable & Sendable>: Sendable {
    /// The method of the request.
    public var method: HTTPMethod
    /// The path, which is resolved against the manager's base URL.
    public var path: String
    /// Header fields of this endpoint. They take precedence over the manager's.
    public var headers: HTTPHeaders?
    /// Changes the manager's defaults for this endpoint.
    public var change: HTTPSessionManager.Change?
    let content: ManagedRequest.Content

    /// Creates an endpoint whose parameters are a dictionary.
    public init(
        _ path: String,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: HTTPSessionManager.Change? = nil
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.change = change
        content = ManagedRequest.Content(parameters)
    }

    /// Creates an endpoint whose parameters are an `Encodable` value.
    public init<Body: Encodable & Sendable>(
        _ path: String,
        method: HTTPMethod = .post,
        sending body: Body,
        headers: HTTPHeaders? = nil,
        changing change: HTTPSessionManager.Change? = nil
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.change = change
        content = ManagedRequest.Content(encoding: body)
    }
}

extension HTTPSessionManager {
    /// Sends the request of an endpoint and decodes the response.
    public func send<Value: Decodable & Sendable>(_ endpoint: Endpoint<Value>) async throws(CurlewError) -> Value {
        try await send(endpoint.method, endpoint.path, endpoint.content, endpoint.headers, nil, endpoint.change)
    }
}
