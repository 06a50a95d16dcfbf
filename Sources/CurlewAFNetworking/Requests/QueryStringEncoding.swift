public import Curlew
public import Foundation
public import FoundationNetworking

/// Writes parameters by AFNetworking's rules.
///
///     QueryStringEncoding().query(["user": ["name": "Ada"], "tags": ["a", "b"], "gone": NSNull()])
///     // gone&tags%5B%5D=a&tags%5B%5D=b&user%5Bname%5D=Ada
///
/// Dictionaries are sorted and written as `key[sub]`, arrays as `key[]`. The elements of a set are sorted and have the
/// key of the set. A null is written as its key alone. The differences from `URLEncoding` are nulls, sets, and the
/// media type, which has no charset here.
public struct QueryStringEncoding: ParameterEncoding {
    /// Writes a query string. An error that it throws ends the request.
    public typealias Serializer = @Sendable (_ request: URLRequest, _ parameters: Parameters) throws -> String

    /// The methods whose parameters are put into the URL. Parameters of other methods are put into the body.
    public var methodsEncodingParametersInURL: Set<HTTPMethod>
    /// The encoding of the text whose bytes are percent-encoded. Text that it cannot express is an error.
    public var stringEncoding: String.Encoding
    /// Writes the query string instead of the rules above.
    public var serializer: Serializer?
    /// Writes the body of the other methods. If it is `nil`, the body is a form by these rules.
    public var body: (any ParameterEncoding)?

    /// Creates an encoding. The defaults are AFNetworking's rules.
    public init(
        methodsEncodingParametersInURL: Set<HTTPMethod> = [.get, .head, .delete],
        stringEncoding: String.Encoding = .utf8,
        body: (any ParameterEncoding)? = nil,
        serializer: Serializer? = nil
    ) {
        self.methodsEncodingParametersInURL = methodsEncodingParametersInURL
        self.stringEncoding = stringEncoding
        self.body = body
        self.serializer = serializer
    }

    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        if methodsEncodingParametersInURL.contains(request.method ?? .get) {
            guard let url = request.url else { throw CurlewError.noURLToEncode }
            let query = try query(of: request, parameters)
            if !query.isEmpty { request.url = try Self.appending(query, to: url) }
            return request
        }
        if let body { return try body.encode(request, with: parameters) }
        // As in AFNetworking, a request without parameters still has an empty form.
        let form = try query(of: request, parameters)
        request.setContentTypeIfAbsent("application/x-www-form-urlencoded")
        guard let bytes = form.data(using: stringEncoding) else { throw Self.inexpressible(form, stringEncoding) }
        request.httpBody = bytes
        return request
    }

    /// The parameters as a query string, percent-encoded.
    public func query(_ parameters: Parameters) throws -> String {
        try QueryPairs(parameters).pairs.map { key, value in
            let name = try escape(key)
            return try value.map { "\(name)=\(try escape($0))" } ?? name
        }
        .joined(separator: "&")
    }

    private func query(of request: URLRequest, _ parameters: Parameters?) throws -> String {
        guard let parameters else { return "" }
        guard let serializer else { return try query(parameters) }
        do {
            return try serializer(request, parameters)
        } catch {
            throw CurlewError.parametersNotEncoded(error)
        }
    }

    private func escape(_ text: String) throws -> String {
        if stringEncoding == .utf8 { return QueryEscaping.standard.escape(text) }
        guard let bytes = text.data(using: stringEncoding) else { throw Self.inexpressible(text, stringEncoding) }
        return QueryEscaping.standard.escape(bytes: bytes)
    }

    private static func inexpressible(_ text: String, _ encoding: String.Encoding) -> CurlewError {
        .parametersNotEncoded(StringNotExpressible(text: text, encoding: encoding))
    }

    /// Appends the query as text, because a user's serializer may have put any character into it.
    private static func appending(_ query: String, to url: URL) throws -> URL {
        var parts = url.absoluteString.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let joint = parts[0].contains("?") ? (parts[0].hasSuffix("?") ? "" : "&") : "?"
        parts[0] += joint + query
        guard let result = URL(string: parts.joined(separator: "#")) else {
            throw CurlewError.noURLToEncode
        }
        return result
    }
}

/// Text of a parameter that has no bytes in the encoding asked for.
public struct StringNotExpressible: Error {
    /// The text that cannot be encoded.
    public let text: String
    /// The encoding that lacks one of its characters.
    public let encoding: String.Encoding
}

extension ParameterEncoding where Self == QueryStringEncoding {
    /// A query string by AFNetworking's rules, in the URL or in the body depending on the method.
    public static var queryString: QueryStringEncoding { QueryStringEncoding() }
}

/// A tree of parameters as pairs in order. The value of a null is `nil`.
struct QueryPairs {
    /// The pairs, with the values as they are.
    private(set) var leaves: [(key: String, value: Any?)] = []

    /// The pairs, with the values as text.
    var pairs: [(key: String, value: String?)] { leaves.map { ($0.key, $0.value.map(URLEncoding.default.text)) } }

    init(_ parameters: Parameters) {
        for (key, value) in parameters.sorted(by: { $0.key < $1.key }) { add(value, key) }
    }

    private mutating func add(_ value: Any, _ key: String) {
        switch value {
        case let optional as any OptionalParameter:
            if let wrapped = optional.wrapped { add(wrapped, key) } else { leaves.append((key, nil)) }
        case is NSNull: leaves.append((key, nil))
        case let dictionary as [String: Any]:
            add(dictionary: dictionary, key)
        case let dictionary as [AnyHashable: Any]:
            add(dictionary: dictionary.map { (key: "\($0.key.base)", value: $0.value) }, key)
        case let array as [Any]:
            for element in array { add(element, "\(key)[]") }
        case let set as Set<AnyHashable>: add(set: set.map(\.base), key)
        case let set as NSSet: add(set: set.allObjects, key)
        default: leaves.append((key, value))
        }
    }

    private mutating func add(dictionary: some Sequence<(key: String, value: Any)>, _ key: String) {
        for (name, element) in dictionary.sorted(by: { $0.key < $1.key }) { add(element, "\(key)[\(name)]") }
    }

    /// The description of `Data` is only its size, so its bytes decide about the order.
    private mutating func add(set: [Any], _ key: String) {
        let sorted = set.map { (text: ($0 as? Data)?.base64EncodedString() ?? "\($0)", element: $0) }
            .sorted { $0.text < $1.text }
        for (_, element) in sorted { add(element, key) }
    }
}

/// Recognizes an optional inside of `Any`.
private protocol OptionalParameter {
    var wrapped: Any? { get }
}

extension Optional: OptionalParameter {
    fileprivate var wrapped: Any? { map { $0 as Any } }
}
