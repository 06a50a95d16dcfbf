public import Curlew
public import Foundation
public import FoundationNetworking

/// Turns a property list, XML or binary, into dictionaries, arrays, strings, numbers, dates and data.
/// For types use `DecodableResponseSerializer` with a `PropertyListDecoder`.
public struct PropertyListResponseSerializer: ResponseSerializer {
    /// The content types of property lists.
    public static let contentTypes: Set<String> = ["application/x-plist"]

    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Creates a serializer. An empty body is an error unless the method or the status allows it.
    public init(
        dataPreprocessor: any DataPreprocessor = PropertyListResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = PropertyListResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = PropertyListResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    /// Returns the property list, or `NSNull` for an empty body that is allowed.
    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> any Any & Sendable {
        if let error { throw error }
        guard let body = try prepared(data, method: request?.method, status: response?.statusCode) else {
            return NSNull()
        }
        do {
            return FoundationValue.sendable(
                try PropertyListSerialization.propertyList(from: body, options: [], format: nil))
        } catch {
            throw CurlewError.serializerFailed(error)
        }
    }
}
