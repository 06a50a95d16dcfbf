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

    /// Makes a serializer; an empty body is an error unless method or status allow it.
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
        let rule = EmptyBodyRule(methods: emptyRequestMethods, codes: emptyResponseCodes)
        guard let data = try rule.body(data, method: request?.method, status: response?.statusCode) else {
            return NSNull()
        }
        let body = try dataPreprocessor.preprocess(data)
        do {
            return Self.sendable(try PropertyListSerialization.propertyList(from: body, options: [], format: nil))
        } catch {
            throw CurlewError.responseSerializationFailed(reason: .customSerializationFailed(error: error))
        }
    }

    private static func sendable(_ value: Any) -> any Any & Sendable {
        switch value {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let string as String: string
        case let date as Date: date
        case let data as Data: data
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}
