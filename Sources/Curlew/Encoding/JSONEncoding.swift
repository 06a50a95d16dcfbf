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
