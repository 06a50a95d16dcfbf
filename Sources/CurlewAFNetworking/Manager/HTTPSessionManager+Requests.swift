public import Curlew
internal import Dispatch
internal import Foundation
internal import FoundationNetworking

// Requests of a manager that are not awaited yet: add handlers, stream progress, or await a result.
extension HTTPSessionManager {
    /// Changes the manager's defaults for one request.
    public typealias Change = @Sendable (inout RequestDefaults) -> Void

    /// Creates a request with the manager's defaults.
    public func request(
        _ method: HTTPMethod,
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil
    ) -> DataRequest {
        request(method, path, ManagedRequest.Content(parameters), headers, defaults(with: change))
    }

    /// Creates a request with an `Encodable` value as its parameters.
    public func request<Value: Encodable & Sendable>(
        _ method: HTTPMethod,
        _ path: String,
        sending value: Value,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil
    ) -> DataRequest {
        request(method, path, ManagedRequest.Content(encoding: value), headers, defaults(with: change))
    }

    /// Creates a download with the manager's defaults.
    public func download(
        _ path: String,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let (session, defaults) = (session, defaults(with: change))
        let made = described(method, path, ManagedRequest.Content(parameters), headers, defaults)
        let request = session.download(made, to: destination).validate(statusCode: defaults.acceptableStatusCodes)
        if let types = defaults.acceptableContentTypes { request.validate(contentType: types) }
        if let multiplexes = defaults.multiplexes { request.multiplexing(multiplexes) }
        return request
    }

    /// Creates an upload of a multipart form. `parameters` become the first parts: data unchanged, null as an empty
    /// part, containers as one part for each leaf.
    public func upload(
        _ method: HTTPMethod = .post,
        _ path: String,
        parameters: Parameters? = nil,
        headers: HTTPHeaders? = nil,
        changing change: Change? = nil,
        multipartFormData: (MultipartFormData) -> Void
    ) -> UploadRequest {
        upload(method, path, parameters, headers, defaults(with: change), multipartFormData)
    }

    // MARK: Making

    func upload(
        _ method: HTTPMethod,
        _ path: String,
        _ parameters: Parameters?,
        _ headers: HTTPHeaders?,
        _ defaults: RequestDefaults,
        _ multipartFormData: (MultipartFormData) -> Void
    ) -> UploadRequest {
        let form = MultipartFormData()
        for (key, value) in QueryPairs(parameters ?? [:]).leaves {
            let text = value.map(URLEncoding.default.text) ?? ""
            form.append(value as? Data ?? Data(text.utf8), withName: key)
        }
        multipartFormData(form)
        let made = described(method, path, .elsewhere, headers, defaults)
        return accepting(session.upload(multipartFormData: form, with: made), defaults)
    }

    func request(
        _ method: HTTPMethod,
        _ path: String,
        _ content: ManagedRequest.Content,
        _ headers: HTTPHeaders?,
        _ defaults: RequestDefaults
    ) -> DataRequest {
        accepting(session.request(described(method, path, content, headers, defaults)), defaults)
    }

    /// Returns the defaults of one request. Call it once for each request: the caller's closure may have side effects.
    func defaults(with change: Change?) -> RequestDefaults {
        var defaults = defaults
        change?(&defaults)
        return defaults
    }

    private func described(
        _ method: HTTPMethod,
        _ path: String,
        _ content: ManagedRequest.Content,
        _ headers: HTTPHeaders?,
        _ defaults: RequestDefaults
    ) -> ManagedRequest {
        ManagedRequest(
            path: path,
            base: base,
            flaw: flaw,
            needsTLS: needsTLS,
            method: method,
            headers: headers,
            content: content,
            defaults: defaults
        )
    }

    private func accepting<Kind: DataRequest>(_ request: Kind, _ defaults: RequestDefaults) -> Kind {
        request.validate(statusCode: defaults.acceptableStatusCodes)
        if let types = defaults.acceptableContentTypes { request.validate(contentType: types) }
        if let multiplexes = defaults.multiplexes { request.multiplexing(multiplexes) }
        return request
    }
}
