public import Curlew
internal import CurlewFailures
public import Foundation
public import FoundationNetworking

/// Turns a property list, XML or binary, into dictionaries, arrays, strings, numbers, dates and data.
/// For types use `DecodableResponseSerializer` with a `PropertyListDecoder`.
public struct PropertyListResponseSerializer: ResponseSerializer {
    /// What property lists are labelled with.
    public static let contentTypes: Set<String> = ["application/x-plist"]

    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Creates a serializer; an empty body is an error unless method or status allow it.
    public init(
        dataPreprocessor: any DataPreprocessor = PropertyListResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = PropertyListResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = PropertyListResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    /// `NSNull` for an empty body where one is allowed.
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
            throw CurlewError.responseSerializationFailed(reason: .customSerializationFailed(error: error))
        }
    }
}
