internal import CurlewCore
internal import Foundation

/// What handlers and terminals are given, made from a run's result: a data response or a download response.
protocol HandledResponse: Sendable {
    associatedtype Value: Sendable

    init(of run: RunResult, serializationDuration: TimeInterval, result: AFResult<Value>)
    func failing(with error: CurlewError) -> Self
}

extension DataResponse: HandledResponse where Failure == CurlewError {
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: AFResult<Success>) {
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
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: AFResult<Success>) {
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
    /// The bytes without a serializer, or the error that concerns every awaiter.
    var unserializedData: AFResult<Data?> { sharedError.map { .failure($0) } ?? .success(body.contents) }
    /// The same of a file.
    var unserializedFile: AFResult<URL?> { sharedError.map { .failure($0) } ?? .success(body.fileURL) }
}
