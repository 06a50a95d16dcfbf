public import Curlew
public import Foundation
public import FoundationNetworking

/// Writes parameters as a property list into the body.
public struct PropertyListEncoding: ParameterEncoding {
    /// XML, the human-readable format.
    public static var `default`: PropertyListEncoding { PropertyListEncoding() }
    /// XML, the human-readable format.
    public static var xml: PropertyListEncoding { PropertyListEncoding(format: .xml) }
    /// The binary format, which is smaller.
    public static var binary: PropertyListEncoding { PropertyListEncoding(format: .binary) }

    /// The format that is written.
    public let format: PropertyListSerialization.PropertyListFormat
    /// The options for writing.
    public let options: PropertyListSerialization.WriteOptions

    /// Creates an encoding.
    public init(
        format: PropertyListSerialization.PropertyListFormat = .xml,
        options: PropertyListSerialization.WriteOptions = 0
    ) {
        self.format = format
        self.options = options
    }

    /// Puts the parameters into the body as a property list.
    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        do {
            let data = try PropertyListSerialization.data(
                fromPropertyList: parameters, format: format, options: options)
            request.setContentTypeIfAbsent("application/x-plist")
            request.httpBody = data
        } catch {
            throw CurlewError.parametersNotPropertyList(error)
        }
        return request
    }
}
