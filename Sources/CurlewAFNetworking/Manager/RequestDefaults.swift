public import Curlew
public import Foundation
public import FoundationNetworking

/// The rules by which a manager encodes its requests and reads their responses. A trailing closure changes the defaults
/// for one request:
///
///     try await client.get("slow", as: User.self) { $0.timeoutInterval = 300 }
public struct RequestDefaults: Sendable {
    /// The encoding of dictionaries as a query string, and the methods that it applies to. `Encodable` values are
    /// written by `URLEncodedFormEncoder`; only `methodsEncodingParametersInURL` applies to them.
    public var query = QueryStringEncoding()
    /// The format of a body that is made of the parameters of other methods.
    public var body = ParameterFormat.form
    /// Decodes response bodies.
    public var decoder: any DataDecoder = FastJSONDecoder()
    /// The statuses that are accepted.
    public var acceptableStatusCodes: Set<Int> = Set(200..<300)
    /// The content types that are accepted. `nil` accepts all. `*` matches any type or subtype.
    public var acceptableContentTypes: Set<String>?

    // If a value is `nil`, the setting of the `URLRequest` stays as it is.

    /// Replaces the timeouts `firstByte` and `idle`.
    public var timeoutInterval: TimeInterval?
    /// The use of the response cache.
    public var cachePolicy: URLRequest.CachePolicy?
    /// Whether the session's cookies are sent and kept.
    public var handlesCookies: Bool?
    /// Whether a connection may be shared with others at the same time (HTTP/2 and later).
    public var multiplexes: Bool?
    /// The service type, which says how the network should treat the request.
    public var networkServiceType: URLRequest.NetworkServiceType?

    /// Creates the usual defaults.
    public init() {}

    func apply(to request: inout URLRequest) {
        if let timeoutInterval { request.timeoutInterval = timeoutInterval }
        if let cachePolicy { request.cachePolicy = cachePolicy }
        if let handlesCookies { request.httpShouldHandleCookies = handlesCookies }
        if let networkServiceType { request.networkServiceType = networkServiceType }
    }
}

/// The format of a body made of parameters.
public enum ParameterFormat: Sendable {
    /// `key=value&…`. Dictionaries are written by `RequestDefaults.query`, `Encodable` values by
    /// `URLEncodedFormEncoder`.
    case form
    /// A JSON document.
    case json(JSONSerialization.WritingOptions = [])
    /// A property list.
    case propertyList(PropertyListSerialization.PropertyListFormat = .xml)
    /// Custom encoders for dictionaries and for `Encodable` values.
    case custom(any ParameterEncoding, any ParameterEncoder)

    /// JSON without any options.
    public static var json: ParameterFormat { .json([]) }

    /// The encoding of dictionaries. `nil` for a form.
    var encoding: (any ParameterEncoding)? {
        switch self {
        case .form: nil
        case .json(let options): JSONEncoding(options: options)
        case .propertyList(let format): PropertyListEncoding(format: format)
        case .custom(let encoding, _): encoding
        }
    }

    /// The encoder of `Encodable` values.
    var encoder: any ParameterEncoder {
        switch self {
        case .form: URLEncodedFormParameterEncoder(destination: .httpBody)
        case .json(let options): JSONParameterEncoder(encoder: Self.jsonEncoder(options))
        case .propertyList(let format): PropertyListParameterEncoder(encoder: PropertyListEncoder(format: format))
        case .custom(_, let encoder): encoder
        }
    }

    private static func jsonEncoder(_ options: JSONSerialization.WritingOptions) -> JSONEncoder {
        let encoder = JSONEncoder()
        if options.contains(.prettyPrinted) { encoder.outputFormatting.insert(.prettyPrinted) }
        if options.contains(.sortedKeys) { encoder.outputFormatting.insert(.sortedKeys) }
        if options.contains(.withoutEscapingSlashes) { encoder.outputFormatting.insert(.withoutEscapingSlashes) }
        return encoder
    }
}
