internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Writes parameters as JSON into the body.
public struct JSONEncoding: ParameterEncoding {
    /// The errors of this encoding.
    public enum Error: Swift.Error {
        /// The value contains something that JSON cannot express.
        case invalidJSONObject
    }

    /// JSON without spaces.
    public static var `default`: JSONEncoding { JSONEncoding() }
    /// JSON with line breaks and indentation.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// The options for writing the JSON text.
    public let options: JSONSerialization.WritingOptions

    /// Creates an encoding.
    public init(options: JSONSerialization.WritingOptions = []) { self.options = options }

    /// Puts the parameters into the body as JSON.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// Writes any JSON object, for instance an array, into the body.
    public func encode(_ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any? = nil) throws
        -> URLRequest
    {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        guard JSONSerialization.isValidJSONObject(jsonObject) else {
            throw CurlewError.parametersNotJSON(Error.invalidJSONObject)
        }
        do {
            let data = try JSONSerialization.data(withJSONObject: jsonObject, options: options)
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

extension ParameterEncoding where Self == JSONEncoding {
    /// JSON in the body.
    public static var json: JSONEncoding { JSONEncoding() }
}

extension ParameterEncoding where Self == URLEncoding {
    /// A query string, in the URL or in the body depending on the method.
    public static var urlEncoded: URLEncoding { URLEncoding() }
}
