internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Writes parameters as a property list into the body.
public struct PropertyListEncoding: ParameterEncoding {
    public static var `default`: PropertyListEncoding { PropertyListEncoding() }
    public static var xml: PropertyListEncoding { PropertyListEncoding(format: .xml) }
    public static var binary: PropertyListEncoding { PropertyListEncoding(format: .binary) }

    public let format: PropertyListSerialization.PropertyListFormat
    public let options: PropertyListSerialization.WriteOptions

    public init(
        format: PropertyListSerialization.PropertyListFormat = .xml,
        options: PropertyListSerialization.WriteOptions = 0
    ) {
        self.format = format
        self.options = options
    }

    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        do {
            let data = try PropertyListSerialization.data(
                fromPropertyList: parameters, format: format, options: options)
            request.setContentTypeIfAbsent(ContentType.propertyList)
            request.httpBody = data
        } catch {
            throw CurlewError.parameterEncodingFailed(reason: .propertyListEncodingFailed(error: error))
        }
        return request
    }
}
