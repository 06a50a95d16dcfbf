internal import CurlewCore
internal import Foundation
public import FoundationNetworking

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
