public import Curlew
internal import Dispatch
public import Foundation

// One method for each HTTP method. `as:` is the type of the body: a `Decodable` type, `Data` for the bytes, `Empty` if
// none is expected. `progress` reports the response's body for GET and the request's body for other methods. It is
// called on the session's completion queue.
extension HTTPSessionManager {
    /// A closure that receives the progress of a transfer.
    public typealias ProgressHandler = @Sendable (Progress) -> Void

    /// Sends a GET request and decodes the response.
    public func get<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.get, path, ManagedRequest.Content(parameters), headers, progress, change)
    }

    /// Sends a HEAD request.
    public func head(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil
    ) async throws(CurlewError) -> ResponseHead {
        let request = request(.head, path, parameters: parameters, headers: headers, changing: change)
        _ = try await request.data()
        guard let head = request.head else { throw CurlewError(.internal, phase: .receive) }
        return head
    }

    /// Sends a POST request with a dictionary of parameters and decodes the response.
    public func post<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.post, path, ManagedRequest.Content(parameters), headers, progress, change)
    }

    /// Sends a POST request with an `Encodable` value and decodes the response.
    public func post<Body: Encodable & Sendable, Value: Decodable & Sendable>(
        _ path: String,
        sending body: Body,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.post, path, ManagedRequest.Content(encoding: body), headers, progress, change)
    }

    /// Sends a POST request with a multipart form and decodes the response. `parameters` are the first parts.
    public func post<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil,
        multipartFormData: (MultipartFormData) -> Void
    ) async throws(CurlewError) -> Value {
        let defaults = defaults(with: change)
        let request = upload(.post, path, parameters, headers, defaults, multipartFormData)
        if let progress { request.uploadProgress(queue: progressQueue, closure: progress) }
        return try await value(of: request, defaults)
    }

    /// Sends a PUT request with a dictionary of parameters and decodes the response.
    public func put<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.put, path, ManagedRequest.Content(parameters), headers, progress, change)
    }

    /// Sends a PUT request with an `Encodable` value and decodes the response.
    public func put<Body: Encodable & Sendable, Value: Decodable & Sendable>(
        _ path: String,
        sending body: Body,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.put, path, ManagedRequest.Content(encoding: body), headers, progress, change)
    }

    /// Sends a PATCH request with a dictionary of parameters and decodes the response.
    public func patch<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.patch, path, ManagedRequest.Content(parameters), headers, progress, change)
    }

    /// Sends a PATCH request with an `Encodable` value and decodes the response.
    public func patch<Body: Encodable & Sendable, Value: Decodable & Sendable>(
        _ path: String,
        sending body: Body,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.patch, path, ManagedRequest.Content(encoding: body), headers, progress, change)
    }

    /// Sends a DELETE request and decodes the response.
    public func delete<Value: Decodable & Sendable>(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        as type: Value.Type = Value.self,
        changing change: Change? = nil,
        progress: ProgressHandler? = nil
    ) async throws(CurlewError) -> Value {
        try await send(.delete, path, ManagedRequest.Content(parameters), headers, progress, change)
    }

    /// Sends a DELETE request and discards the body of the response, whatever it is.
    public func delete(
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil
    ) async throws(CurlewError) {
        _ = try await request(.delete, path, parameters: parameters, headers: headers, changing: change).data()
    }

    // MARK: Carrying out

    func send<Value: Decodable & Sendable>(
        _ method: HTTPMethod,
        _ path: String,
        _ content: ManagedRequest.Content,
        _ headers: HTTPHeaders?,
        _ progress: ProgressHandler?,
        _ change: Change?
    ) async throws(CurlewError) -> Value {
        let defaults = defaults(with: change)
        let request = request(method, path, content, headers, defaults)
        if let progress {
            if method == .get {
                request.downloadProgress(queue: progressQueue, closure: progress)
            } else {
                request.uploadProgress(queue: progressQueue, closure: progress)
            }
        }
        return try await value(of: request, defaults)
    }

    private func value<Value: Decodable & Sendable>(
        of request: DataRequest,
        _ defaults: RequestDefaults
    ) async throws(CurlewError) -> Value {
        // `Data` is returned as it is. A decoder would read it from a JSON string.
        if let data = Data() as? Value {
            return try await request.data() as? Value ?? data
        }
        return try await request.decode(Value.self, decoder: defaults.decoder)
    }

    private var progressQueue: DispatchQueue { session.configuration.completionQueue ?? .main }
}
