public import Curlew
public import Dispatch
public import Foundation

// Alamofire's handlers of JSON objects, which it has deprecated.
extension DataRequest {
    /// Calls the handler with the body as a JSON object. Prefer `responseDecodable`.
    @discardableResult
    public func responseJSON(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (AFDataResponse<JSONResponseSerializer.SerializedObject>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor,
                emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods,
                options: options
            ),
            completionHandler: completionHandler
        )
    }
}

extension DownloadRequest {
    /// Calls the handler with the body as a JSON object. Prefer `responseDecodable`.
    @discardableResult
    public func responseJSON(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (AFDownloadResponse<JSONResponseSerializer.SerializedObject>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor,
                emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods,
                options: options
            ),
            completionHandler: completionHandler
        )
    }
}

// Code in Swift's fifth mode keeps JSON objects as `Any`: `AFDataResponse<Any>`. Where the handler's type says nothing,
// the forms above are meant.
extension DataRequest {
    /// Calls the handler with the body as a JSON object of the type that it takes.
    @_disfavoredOverload
    @discardableResult
    public func responseJSON<Value: Sendable>(
        queue: DispatchQueue? = nil,
        options: JSONSerialization.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        responseJSON(queue: queue, options: options) { response in
            completionHandler(response.tryMap(FoundationValue.cast).mapError(FoundationValue.error))
        }
    }
}

extension DownloadRequest {
    /// Calls the handler with the body as a JSON object of the type that it takes.
    @_disfavoredOverload
    @discardableResult
    public func responseJSON<Value: Sendable>(
        queue: DispatchQueue? = nil,
        options: JSONSerialization.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Value>) -> Void
    ) -> Self {
        responseJSON(queue: queue, options: options) { response in
            completionHandler(response.tryMap(FoundationValue.cast).mapError(FoundationValue.error))
        }
    }
}
