public import Curlew
public import Foundation
public import FoundationNetworking

extension JSONEncoding {
    /// The options for writing the JSON text.
    public var options: JSONSerialization.WritingOptions { writingOptions }

    /// JSON with line breaks and indentation.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// Writes any JSON object, for instance an array, into the body.
    public func encode(
        _ urlRequest: any URLRequestConvertible,
        withJSONObject jsonObject: Any? = nil
    ) throws -> URLRequest {
        try encoding(jsonObject, into: urlRequest)
    }
}

extension JSONParameterEncoder {
    /// The encoder that turns values into JSON.
    public var encoder: JSONEncoder { jsonEncoder }

    /// JSON with line breaks and indentation.
    public static var prettyPrinted: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        return JSONParameterEncoder(encoder: encoder)
    }

    /// JSON whose keys are sorted, so that equal values have equal bodies.
    public static var sortedKeys: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return JSONParameterEncoder(encoder: encoder)
    }
}

extension URLEncodedFormParameterEncoder {
    /// The destination of the query string.
    public typealias Destination = URLEncoding.Destination

    /// The encoder that turns values into a form.
    public var encoder: URLEncodedFormEncoder { formEncoder }
    /// The destination of the form.
    public var destination: Destination { formDestination }
}

extension URLEncoding {
    /// The notation for the key of an array's element.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding
    /// The notation for a `Bool`.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// The destination of the query string.
    public var destination: Destination { settings.destination }
    /// The notation for keys of array elements.
    public var arrayEncoding: ArrayEncoding { settings.arrayEncoding }
    /// The notation for booleans.
    public var boolEncoding: BoolEncoding { settings.boolEncoding }

    /// Returns one value as percent-encoded pairs. A container gives one pair for each leaf.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        components(fromKey: key, value: value)
    }

    /// Percent-encodes everything outside `CharacterSet.afURLQueryAllowed`.
    public func escape(_ string: String) -> String { percentEncoded(string) }
}

extension ParameterEncoding where Self == JSONEncoding {
    /// JSON in the body.
    public static var json: JSONEncoding { JSONEncoding() }
}

extension ParameterEncoding where Self == URLEncoding {
    /// A query string, in the URL or in the body depending on the method.
    public static var urlEncoded: URLEncoding { URLEncoding() }
}
