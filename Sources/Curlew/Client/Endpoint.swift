public import CurlewCore
internal import Foundation

/// One thing that a service offers, as a value: what to ask, and what the answer is.
///
///     extension Endpoint where Value == User {
///         static func user(_ id: Int) -> Endpoint { Endpoint("users/\(id)") }
///     }
///     let user = try await client.send(.user(1))
public struct Endpoint<Value: Decodable & Sendable>: Sendable {
    /// How it is asked.
    public var method: HTTPMethod
    /// Resolved against the client's base URL.
    public var path: String
    /// Fields of its own, over the client's.
    public var headers: HTTPHeaders?
    /// Changes the client's defaults for this endpoint.
    public var change: HTTPClient.Change?
    let content: ClientRequest.Content

    /// An endpoint with parameters by name.
    public init(
        _ path: String,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: HTTPClient.Change? = nil
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.change = change
        content = ClientRequest.Content(parameters)
    }

    /// An endpoint that is sent a value.
    public init<Body: Encodable & Sendable>(
        _ path: String,
        method: HTTPMethod = .post,
        sending body: Body,
        headers: HTTPHeaders? = nil,
        changing change: HTTPClient.Change? = nil
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.change = change
        content = ClientRequest.Content(encoding: body)
    }
}

extension HTTPClient {
    /// Asks an endpoint.
    public func send<Value: Decodable & Sendable>(_ endpoint: Endpoint<Value>) async throws(CurlewError) -> Value {
        try await send(endpoint.method, endpoint.path, endpoint.content, endpoint.headers, nil, endpoint.change)
    }
}
