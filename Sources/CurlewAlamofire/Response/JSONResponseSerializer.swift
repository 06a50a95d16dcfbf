public import Curlew
internal import CurlewFailures
public import Foundation
public import FoundationNetworking

/// Turns the body into dictionaries, arrays, strings and numbers. `DecodableResponseSerializer` gives types.
public final class JSONResponseSerializer: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>
    /// How the body is read.
    public let options: JSONSerialization.ReadingOptions

    /// Makes a serializer; an empty body is an error unless method or status allow it.
    public init(
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options
    }

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
            return JSONValue.sendable(try JSONSerialization.jsonObject(with: body, options: options))
        } catch {
            throw CurlewError.responseSerializationFailed(reason: .jsonSerializationFailed(error: error))
        }
    }
}

extension JSONResponseSerializer {
    /// What JSON is labelled with.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]
}

/// What `JSONSerialization` gives, as a type that says that it may be sent to another task.
enum JSONValue {
    static func sendable(_ value: Any) -> any Any & Sendable {
        switch value {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let string as String: string
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}
