internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Writes an `Encodable` value as JSON into the body, with `FastJSONEncoder` unless `encoder` is a subclass of
/// `JSONEncoder`.
///
/// Without `.sortedKeys`, keys have the order in which the type encodes them.
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
