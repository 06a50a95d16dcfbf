public import Curlew
public import Dispatch
public import Foundation

// Alamofire's handlers of JSON objects, which Alamofire has deprecated.
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

// In Swift 5 mode, code treats JSON objects as `Any`: `AFDataResponse<Any>`. If the handler's type is not written, the
// methods above are chosen.
extension DataRequest {
    /// Calls the handler with the body as a JSON object of the type that the handler expects.
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
    /// Calls the handler with the body as a JSON object of the type that the handler expects.
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
