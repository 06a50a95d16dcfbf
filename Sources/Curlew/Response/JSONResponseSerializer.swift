public import CurlewCore
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

    /// Creates a serializer; an empty body is an error unless method or status allow it.
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
        guard let body = try prepared(data, method: request?.method, status: response?.statusCode) else {
            return NSNull()
        }
        do {
            return FoundationValue.sendable(try JSONSerialization.jsonObject(with: body, options: options))
        } catch {
            throw CurlewError.responseSerializationFailed(reason: .jsonSerializationFailed(error: error))
        }
    }
}

extension JSONResponseSerializer {
    /// What JSON is labelled with.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]
}
