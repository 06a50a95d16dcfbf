public import Curlew
public import Foundation
public import FoundationNetworking

/// Writes an `Encodable` value as a property list into the body.
public final class PropertyListParameterEncoder: ParameterEncoder {
    /// An encoder that writes XML. `PropertyListEncoder` without settings would write the binary format.
    public static var `default`: PropertyListParameterEncoder { PropertyListParameterEncoder() }

    /// The encoder that turns values into property lists.
    public let encoder: PropertyListEncoder

    /// Creates a parameter encoder. If `encoder` is `nil`, values are written as XML.
    public init(encoder: PropertyListEncoder? = nil) {
        self.encoder = encoder ?? PropertyListEncoder(format: .xml)
    }

    /// Puts the value into the body as a property list.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?,
        into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        var request = request
        do {
            request.httpBody = try encoder.encode(parameters)
            request.setContentTypeIfAbsent("application/x-plist")
        } catch {
            throw CurlewError.parametersNotPropertyList(error)
        }
        return request
    }
}

extension PropertyListEncoder {
    convenience init(format: PropertyListSerialization.PropertyListFormat) {
        self.init()
        outputFormat = format
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// A property list in the body.
    public static var propertyList: PropertyListParameterEncoder { PropertyListParameterEncoder() }

    /// A property list in the body, written by the given encoder.
    public static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}
