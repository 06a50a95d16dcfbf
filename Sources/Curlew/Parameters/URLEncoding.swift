internal import CurlewCore
internal import CurlewFailures
internal import Foundation
public import FoundationNetworking

/// Writes parameters as a query string, into the URL or into the body.
///
///     session.request(url, parameters: ["page": 2, "tags": ["a", "b"]])      // ?page=2&tags%5B%5D=a&tags%5B%5D=b
///
/// Keys are sorted, so that equal parameters give equal requests; a query that the URL already has is kept.
public struct URLEncoding: ParameterEncoding {
    /// Where the query string goes.
    public enum Destination: Sendable {
        /// Into the URL for GET, HEAD and DELETE, into the body otherwise.
        case methodDependent
        /// Always into the query.
        case queryString
        /// Always into the body.
        case httpBody

        func encodesParametersInURL(for method: HTTPMethod) -> Bool {
            switch self {
            case .methodDependent: [.get, .head, .delete].contains(method)
            case .queryString: true
            case .httpBody: false
            }
        }
    }

    /// How the key of an array's element is written.
    public enum ArrayEncoding: Sendable {
        /// `key[]`
        case brackets
        /// `key`
        case noBrackets
        /// `key[0]`
        case indexInBrackets
        /// Makes the key with a closure.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func encode(key: String, atIndex index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// How a `Bool` is written.
    public enum BoolEncoding: Sendable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal

        func encode(value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// Query or body by the method.
    public static var `default`: URLEncoding { URLEncoding() }
    /// Always into the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }
    /// Always into the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    /// Where the parameters go.
    public let destination: Destination
    /// How keys of array elements are written.
    public let arrayEncoding: ArrayEncoding
    /// How booleans are written.
    public let boolEncoding: BoolEncoding

    /// Creates an encoding.
    public init(
        destination: Destination = .methodDependent,
        arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// Puts the parameters into the query or the body.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters, !parameters.isEmpty else { return request }
        if destination.encodesParametersInURL(for: request.method ?? .get) {
            guard let url = request.url else { throw CurlewError.parameterEncodingFailed(reason: .missingURL) }
            request.url = url.appendingEncodedQuery(query(parameters))
        } else {
            request.setContentTypeIfAbsent(ContentType.formURLEncoded)
            request.httpBody = Data(query(parameters).utf8)
        }
        return request
    }

    /// One value as pairs, percent-encoded; containers give one pair per leaf.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        leaves(fromKey: key, value: value).map { (escape($0.0), escape($0.1)) }
    }

    /// One value as pairs, not encoded yet.
    func leaves(fromKey key: String, value: Any) -> [(String, String)] {
        leafValues(fromKey: key, value: value).map { ($0.0, text(of: $0.1)) }
    }

    /// One value as pairs, containers opened and their values as they are.
    func leafValues(fromKey key: String, value: Any) -> [(String, Any)] {
        switch value {
        case let dictionary as [String: Any]:
            dictionary.sorted { $0.key < $1.key }
                .flatMap { leafValues(fromKey: "\(key)[\($0.key)]", value: $0.value) }
        case let array as [Any]:
            array.enumerated().flatMap { leafValues(fromKey: arrayEncoding.encode(key: key, atIndex: $0), value: $1) }
        default: [(key, value)]
        }
    }

    /// What is no container, as text.
    func text(of value: Any) -> String {
        switch value {
        case let bool as Bool where type(of: value) == Bool.self: boolEncoding.encode(value: bool)
        case let number as NSNumber where number.isBool: boolEncoding.encode(value: number.boolValue)
        default: "\(value)"
        }
    }

    /// Percent-encodes everything outside `CharacterSet.afURLQueryAllowed`.
    public func escape(_ string: String) -> String { QueryEscaping.standard.escape(string) }

    private func query(_ parameters: [String: Any]) -> String {
        var components: [(String, String)] = []
        for key in parameters.keys.sorted(by: <) {
            if let value = parameters[key] { components += queryComponents(fromKey: key, value: value) }
        }
        return components.map { "\($0)=\($1)" }.joined(separator: "&")
    }
}

extension URL {
    /// The URL with `query`, which is percent-encoded already, behind the query that it has. What the caller's encoder left
    /// and a URL cannot have is escaped all the same: `URLComponents` would trap.
    func appendingEncodedQuery(_ query: String) -> URL {
        let query = QueryEscaping.fitForURL(query)
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return self }
        components.percentEncodedQuery =
            components.percentEncodedQuery.map { $0.isEmpty ? query : "\($0)&\(query)" } ?? query
        return components.url ?? self
    }
}

extension NSNumber {
    /// Whether it was made from a `Bool`: those compare equal to 0 and 1, so the type alone tells.
    package var isBool: Bool { type(of: self) == type(of: NSNumber(value: true)) && objCType.pointee == 0x63 }
}
