internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// A request that consists of a URL and a dictionary of parameters.
struct EncodedRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let parameters: Parameters?
    let encoding: any ParameterEncoding
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        guard let parameters else { return request }
        return try encoding.encode(request, with: parameters)
    }
}

/// A request that consists of a URL and an `Encodable` value as its parameters, or none.
struct EncodableRequest<P: Encodable & Sendable>: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let parameters: P?
    let encoder: any ParameterEncoder
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        guard let parameters else { return request }
        return try encoder.encode(parameters, into: request)
    }
}

/// A request that consists of a URL without parameters.
package struct PlainRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    package init(
        url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders?, modifier: Session.RequestModifier?
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.modifier = modifier
    }

    package func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        return request
    }
}
