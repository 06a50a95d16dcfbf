public import Curlew
public import Foundation
public import FoundationNetworking
public import HTTPTypes

/// Every method of a session that takes a request takes an `HTTPRequest`:
///
///     let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/users/1")
///     let user = try await session.request(request).decode(User.self)
///     let receipt = try await session.upload(fileURL, with: request).decode(Receipt.self)
extension HTTPRequest: @retroactive URLRequestConvertible {
    /// Returns the request as a `URLRequest`. Throws a `CurlewError` with `.invalidURL` if its parts make no URL.
    ///
    /// Without a scheme and an authority the URL is relative, for a session with a `baseURL`. Fields that are repeated
    /// become one, separated by commas, and `Cookie` by semicolons.
    ///
    /// No part can change another. A path begins with a slash, and with one alone if there is no authority; `*` has no URL.
    /// An authority is a host and a port, without user information.
    public func asURLRequest() throws -> URLRequest {
        guard let url = writtenURL.flatMap(URL.init(string:)) else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "The parts of the HTTPRequest make no URL.")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method.rawValue
        request.setFields(headerFields)
        return request
    }

    /// Creates the request without its body. `nil` if it has no absolute URL, or its method is not a token.
    public init?(_ request: URLRequest) {
        guard let url = request.url, let method = Method(rawValue: request.httpMethod ?? "GET"),
            let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme, let host = parts.writtenHost
        else { return nil }
        let authority = parts.port.map { "\(host):\($0)" } ?? host
        let path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
        let target = parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
        let fields = HTTPFields(HTTPHeaders(request.allHTTPHeaderFields ?? [:]))
        self.init(method: method, scheme: scheme, authority: authority, path: target, headerFields: fields)
    }
}

extension HTTPRequest {
    /// The parts as they are written in a URL. `nil` if one of them would be parsed as another one: after a host,
    /// `@evil.example` and `.evil.example` are another host, and so is `//evil.example` without one. A `#` in the path
    /// would begin a fragment, which is not sent.
    private var writtenURL: String? {
        let target = path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        guard target.utf8.first == UInt8(ascii: "/"), !target.utf8.contains(UInt8(ascii: "#")) else { return nil }
        guard scheme != nil || authority != nil else { return target.utf8.starts(with: "//".utf8) ? nil : target }
        let scheme = scheme ?? "https"
        guard let authority, !authority.isEmpty, !authority.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            !scheme.isEmpty, scheme.utf8.allSatisfy(\.isSchemeCharacter)
        else { return nil }
        return "\(scheme)://\(authority)\(target)"
    }
}

extension UInt8 {
    fileprivate var isSchemeCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension URLRequest {
    /// Sets the fields. Those that are repeated become one, because a `URLRequest` has one for each name.
    public mutating func setFields(_ fields: HTTPFields) {
        for name in Set(fields.map(\.name)) {
            let separator = name == .cookie ? "; " : ", "
            let value = fields[values: name].joined(separator: separator)
            setValue(value, forHTTPHeaderField: name.rawName)
        }
    }
}

extension Request {
    /// The response of the last exchange. `nil` before its head has arrived.
    public var httpResponse: HTTPResponse? { head.map { HTTPResponse($0) } }
}

extension Session {
    /// Returns the body and the response, for any status.
    public nonisolated func data(for request: HTTPRequest) async throws(CurlewError) -> (Data, HTTPResponse) {
        try await self.request(request).acceptingAnyStatus().dataAndResponse()
    }

    /// Sends bytes and returns the response, for any status.
    public nonisolated func upload(
        for request: HTTPRequest, from bodyData: Data
    ) async throws(CurlewError) -> (Data, HTTPResponse) {
        try await upload(bodyData, with: request).acceptingAnyStatus().dataAndResponse()
    }

    /// Sends a file and returns the response, for any status.
    public nonisolated func upload(
        for request: HTTPRequest, fromFile fileURL: URL
    ) async throws(CurlewError) -> (Data, HTTPResponse) {
        try await upload(fileURL, with: request).acceptingAnyStatus().dataAndResponse()
    }
}

extension DataRequest {
    fileprivate func dataAndResponse() async throws(CurlewError) -> (Data, HTTPResponse) {
        let data = try await data()
        guard let httpResponse else { throw CurlewError(.internal, phase: .receive, reason: "There is no response.") }
        return (data, httpResponse)
    }
}

extension URLComponents {
    /// The host as it is written in a URL, an IPv6 address in brackets. `nil` without one.
    fileprivate var writtenHost: String? {
        guard let host = percentEncodedHost, !host.isEmpty else { return nil }
        return host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}
