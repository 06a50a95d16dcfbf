public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Makes dictionaries, arrays, strings and numbers from the body. `DecodableResponseSerializer` returns your types.
public final class JSONResponseSerializer: ResponseSerializer {
    public let dataPreprocessor: any DataPreprocessor
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>
    /// The options for reading the body.
    public let options: JSONSerialization.ReadingOptions

    /// Creates a serializer. An empty body is an error unless the method or the status allows it.
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
            throw CurlewError.bodyNotJSON(error)
        }
    }
}

extension JSONResponseSerializer {
    /// The media types of JSON.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]
}
