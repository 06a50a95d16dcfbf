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
