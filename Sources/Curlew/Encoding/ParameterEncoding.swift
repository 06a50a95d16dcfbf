internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Parameters of a request, by name.
public typealias Parameters = [String: any Any & Sendable]

/// Puts a dictionary of parameters into a request.
public protocol ParameterEncoding: Sendable {
    /// Returns the request with the parameters in it, or unchanged if there are none.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the parameters in it, or unchanged if there are none.
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
}

/// Writes parameters as JSON into the body.
public struct JSONEncoding: ParameterEncoding {
    /// The errors of this encoding.
    public enum Error: Swift.Error {
        /// The value contains something that JSON cannot express.
        case invalidJSONObject
    }

    /// JSON without spaces.
    public static var `default`: JSONEncoding { JSONEncoding() }

    /// The options for writing the JSON text.
    package let writingOptions: JSONSerialization.WritingOptions

    /// Creates an encoding.
    public init(options: JSONSerialization.WritingOptions = []) { writingOptions = options }

    /// Puts the parameters into the body as JSON.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try encoding(parameters, into: urlRequest)
    }

    /// Writes any JSON object, for instance an array, into the body.
    package func encoding(_ jsonObject: Any?, into urlRequest: any URLRequestConvertible) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        guard JSONSerialization.isValidJSONObject(jsonObject) else {
            throw CurlewError.parametersNotJSON(Error.invalidJSONObject)
        }
        do {
            let data = try JSONSerialization.data(withJSONObject: jsonObject, options: writingOptions)
            request.setContentTypeIfAbsent(ContentType.json)
            request.httpBody = data
        } catch {
            throw CurlewError.parametersNotJSON(error)
        }
        return request
    }
}

extension JSONEncoding.Error: LocalizedError {
    public var errorDescription: String? { "Invalid JSON object provided for parameter or object encoding." }
}

/// Writes an `Encodable` value as JSON into the body, with `FastJSONEncoder` and the options of `encoder`, unless
/// `encoder` is a subclass of `JSONEncoder`.
///
/// `FastJSONEncoder` writes keys in the order in which the type encodes them, unless the options contain `.sortedKeys`.
// SAFETY: `jsonEncoder` is set once; JSONEncoder may encode on several threads at once, and is not changed here.
open class JSONParameterEncoder: @unchecked Sendable, ParameterEncoder {
    /// The encoder that turns values into JSON.
    package let jsonEncoder: JSONEncoder

    /// JSON in the default form of `JSONEncoder`.
    public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

    /// Creates a parameter encoder that uses the given JSON encoder.
    public init(encoder: JSONEncoder = JSONEncoder()) { jsonEncoder = encoder }

    /// Puts the value into the body as JSON.
    open func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?,
        into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        var request = request
        do {
            request.httpBody = try jsonEncoder.fastEncode(parameters)
            request.setContentTypeIfAbsent(ContentType.json)
        } catch {
            throw CurlewError.parametersNotJSON(error)
        }
        return request
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// JSON in the body.
    public static var json: JSONParameterEncoder { JSONParameterEncoder() }

    /// JSON in the body, written by the given encoder.
    public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

/// The media types that encoders set as `Content-Type`.
enum ContentType {
    static let formURLEncoded = "application/x-www-form-urlencoded; charset=utf-8"
    static let json = "application/json"
}

extension URLRequest {
    /// Sets the `Content-Type`, unless the request already has one.
    package mutating func setContentTypeIfAbsent(_ type: String) {
        if value(forHTTPHeaderField: "Content-Type") == nil { setValue(type, forHTTPHeaderField: "Content-Type") }
    }
}

/// Writes parameters as a query string, into the URL or into the body.
///
///     session.request(url, parameters: ["page": 2, "tags": ["a", "b"]])      // ?page=2&tags%5B%5D=a&tags%5B%5D=b
///
/// Keys are sorted, so that equal parameters give equal requests; a query that the URL already has is kept.
public struct URLEncoding: ParameterEncoding {
    /// The destination of the query string.
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

    /// Into the query or into the body, depending on the method.
    public static var `default`: URLEncoding { URLEncoding() }
    /// Always into the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }
    /// Always into the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    /// The options, in the order of the initializer's parameters.
    package struct Settings: Sendable {
        package let destination: Destination
        package let arrayEncoding: URLEncodedFormEncoder.ArrayEncoding
        package let boolEncoding: URLEncodedFormEncoder.BoolEncoding
    }

    package let settings: Settings

    /// Creates an encoding.
    public init(
        destination: Destination = .methodDependent,
        arrayEncoding: URLEncodedFormEncoder.ArrayEncoding = .brackets,
        boolEncoding: URLEncodedFormEncoder.BoolEncoding = .numeric
    ) {
        settings = Settings(destination: destination, arrayEncoding: arrayEncoding, boolEncoding: boolEncoding)
    }

    /// Puts the parameters into the query or the body.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters, !parameters.isEmpty else { return request }
        if settings.destination.encodesParametersInURL(for: request.method ?? .get) {
            guard let url = request.url else { throw CurlewError.noURLToEncode }
            request.url = url.appendingEncodedQuery(query(parameters))
        } else {
            request.setContentTypeIfAbsent(ContentType.formURLEncoded)
            request.httpBody = Data(query(parameters).utf8)
        }
        return request
    }

    /// Returns one value as percent-encoded pairs. A container gives one pair for each leaf.
    package func components(fromKey key: String, value: Any) -> [(String, String)] {
        leafValues(fromKey: key, value: value).map { (percentEncoded($0.0), percentEncoded(text(of: $0.1))) }
    }

    /// Returns the leaves of a value with their keys, before they are turned into text.
    func leafValues(fromKey key: String, value: Any) -> [(String, Any)] {
        switch value {
        case let dictionary as [String: Any]:
            dictionary.sorted { $0.key < $1.key }
                .flatMap { leafValues(fromKey: "\(key)[\($0.key)]", value: $0.value) }
        case let array as [Any]:
            array.enumerated().flatMap {
                leafValues(fromKey: settings.arrayEncoding.encode(key, atIndex: $0), value: $1)
            }
        default: [(key, value)]
        }
    }

    /// Returns the text of a value that is not a container.
    package func text(of value: Any) -> String {
        switch value {
        case let bool as Bool where type(of: value) == Bool.self: settings.boolEncoding.encode(bool)
        case let number as NSNumber where number.isBool: settings.boolEncoding.encode(number.boolValue)
        default: "\(value)"
        }
    }

    /// Percent-encodes everything that RFC 3986 does not allow in a query.
    package func percentEncoded(_ string: String) -> String { QueryEscaping.standard.escape(string) }

    private func query(_ parameters: [String: Any]) -> String {
        var components: [(String, String)] = []
        for key in parameters.keys.sorted(by: <) {
            if let value = parameters[key] { components += self.components(fromKey: key, value: value) }
        }
        return components.map { "\($0)=\($1)" }.joined(separator: "&")
    }
}

/// Writes an `Encodable` value as a query string, into the URL or into the body.
// SAFETY: both properties are set once, and Sendable.
open class URLEncodedFormParameterEncoder: @unchecked Sendable, ParameterEncoder {
    /// The default form encoder, with a destination that depends on the method.
    public static var `default`: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

    /// The encoder that turns values into a form.
    package let formEncoder: URLEncodedFormEncoder
    /// The destination of the form.
    package let formDestination: URLEncoding.Destination

    /// Creates an encoder.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncoding.Destination = .methodDependent
    ) {
        formEncoder = encoder
        formDestination = destination
    }

    /// Puts the value into the query or the body as a form.
    open func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?,
        into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        var request = request
        guard let url = request.url else {
            throw CurlewError.encoderLacksURL
        }
        guard let method = request.method else {
            throw CurlewError.encoderLacksMethod(request.httpMethod ?? "nil")
        }
        let query: String
        do {
            query = try formEncoder.encode(parameters)
        } catch {
            throw CurlewError.encoderFailed(error)
        }
        if formDestination.encodesParametersInURL(for: method) {
            if !query.isEmpty { request.url = url.appendingEncodedQuery(query) }
        } else {
            request.setContentTypeIfAbsent(ContentType.formURLEncoded)
            request.httpBody = Data(query.utf8)
        }
        return request
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// A query string, in the URL or in the body depending on the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

    /// A query string, with the given encoder and destination.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncoding.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}

extension URL {
    /// Appends `query`, which is percent-encoded already, to the URL's query. Characters that a URL cannot contain are
    /// escaped even if the caller's encoder allows them, because `URLComponents` would trap.
    fileprivate func appendingEncodedQuery(_ query: String) -> URL {
        let query = QueryEscaping.fitForURL(query)
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return self }
        components.percentEncodedQuery =
            components.percentEncodedQuery.map { $0.isEmpty ? query : "\($0)&\(query)" } ?? query
        return components.url ?? self
    }
}

extension NSNumber {
    /// Whether the number was made from a `Bool`. Such numbers compare equal to 0 and 1, so only the type tells.
    package var isBool: Bool { type(of: self) == type(of: NSNumber(value: true)) && objCType.pointee == 0x63 }
}
