internal import Curlew
internal import Foundation
internal import FoundationNetworking

/// One request of a manager. Its `URLRequest` is made anew for every attempt.
struct ManagedRequest: URLRequestConvertible {
    /// The parameters, which are put into the request by the manager's rules.
    enum Content: Sendable {
        case none
        /// The multipart form is the body.
        case elsewhere
        case dictionary(Parameters)
        case encodable(@Sendable (any ParameterEncoder, URLRequest) throws -> URLRequest)
    }

    let path: String
    let base: BaseURL?
    let flaw: CurlewError?
    let needsTLS: Bool
    let method: HTTPMethod
    let headers: HTTPHeaders?
    let content: Content
    let defaults: RequestDefaults

    func asURLRequest() throws -> URLRequest {
        if let flaw { throw flaw }
        var request = try URLRequest(url: base?.resolve(path) ?? path.asURL(), method: method, headers: headers)
        defaults.apply(to: &request)
        request = try encoded(request)
        // A custom encoder may have changed the URL, so the scheme is checked last.
        if needsTLS, request.url?.scheme?.lowercased() != "https" {
            throw CurlewError(
                .requestCreationFailed,
                phase: .creation,
                reason: "a security policy that pins certificates needs https",
                url: request.url
            )
        }
        return request
    }

    private func encoded(_ request: URLRequest) throws -> URLRequest {
        var query = defaults.query
        if query.body == nil { query.body = defaults.body.encoding }
        switch content {
        case .none:
            // As in AFNetworking, a form without parameters sets its media type. In the other formats there is no body.
            return query.body == nil && !isInURL ? try query.encode(request, with: nil) : request
        case .elsewhere: return request
        case .dictionary(let parameters): return try query.encode(request, with: parameters)
        case .encodable(let encode):
            return try encode(
                isInURL ? URLEncodedFormParameterEncoder(destination: .queryString) : defaults.body.encoder,
                request
            )
        }
    }

    private var isInURL: Bool { defaults.query.methodsEncodingParametersInURL.contains(method) }
}

extension ManagedRequest.Content {
    init(_ parameters: Parameters?) { self = parameters.map(ManagedRequest.Content.dictionary) ?? .none }

    init<Value: Encodable & Sendable>(encoding value: Value) {
        self = .encodable { encoder, request in try encoder.encode(value, into: request) }
    }
}
