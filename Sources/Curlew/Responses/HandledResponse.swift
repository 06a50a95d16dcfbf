internal import CurlewCore
internal import Foundation

/// A data or download response for handlers and awaiting methods, made from a run's result.
protocol HandledResponse: Sendable {
    associatedtype Value: Sendable

    init(of run: RunResult, serializationDuration: TimeInterval, result: Result<Value, CurlewError>)
    func failing(with error: CurlewError) -> Self
}

extension DataResponse: HandledResponse where Failure == CurlewError {
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: Result<Success, CurlewError>) {
        self.init(
            request: run.request?.urlRequest,
            lazyResponse: run.response,
            data: run.body.contents,
            metrics: run.metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: run.sensitiveHeaders
        )
    }

    func failing(with error: CurlewError) -> DataResponse { with(.failure(error)) }
}

extension DownloadResponse: HandledResponse where Failure == CurlewError {
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: Result<Success, CurlewError>) {
        self.init(
            request: run.request?.urlRequest,
            lazyResponse: run.response,
            fileURL: run.body.fileURL,
            resumeData: run.resumeData,
            metrics: run.metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: run.sensitiveHeaders
        )
    }

    func failing(with error: CurlewError) -> DownloadResponse { with(.failure(error)) }
}

extension RunResult {
    /// The bytes of the body, or the error that concerns every awaiting method.
    var unserializedData: Result<Data?, CurlewError> { sharedError.map { .failure($0) } ?? .success(body.contents) }
    /// The URL of the file, or the error that concerns every awaiting method.
    var unserializedFile: Result<URL?, CurlewError> { sharedError.map { .failure($0) } ?? .success(body.fileURL) }
}
