internal import CurlewCore
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The result of a run. All awaiting methods share it, and each applies its rules to it.
final class RunResult: Sendable {
    let request: RequestSnapshot?
    let response: LazyResponse?
    /// The permitted trailer fields. `nil` if the response did not end completely.
    let trailers: HTTPHeaders?
    let metrics: TransferMetrics?
    let body: ReceivedBody
    let error: CurlewError?
    /// Whether the run has checked the status for awaiting methods. A run that handlers or `resume()` started has not.
    let isStatusChecked: Bool
    /// Whether `error` exists only because the awaiting method that started the run rejects unacceptable statuses.
    let isStatusCheckOnly: Bool
    let resumeData: Data?
    /// The names of the fields that the session treats as secret.
    let sensitiveHeaders: [String]

    init(
        request: RequestSnapshot? = nil,
        response: LazyResponse? = nil,
        trailers: HTTPHeaders? = nil,
        metrics: TransferMetrics? = nil,
        body: ReceivedBody = .none,
        error: CurlewError?,
        isStatusChecked: Bool = false,
        isStatusCheckOnly: Bool = false,
        resumeData: Data? = nil,
        sensitiveHeaders: [String] = []
    ) {
        self.request = request
        self.response = response
        self.trailers = trailers
        self.metrics = metrics
        self.body = body
        var error = error
        if let resumeData { error?.downloadResumeData = resumeData }
        self.error = error
        self.isStatusChecked = isStatusChecked
        self.isStatusCheckOnly = isStatusCheckOnly
        self.resumeData = resumeData
        self.sensitiveHeaders = sensitiveHeaders
    }

    /// The error for awaiting methods that do not check the status themselves.
    var sharedError: CurlewError? { isStatusCheckOnly ? nil : error }
}

extension RunResult {
    /// A copy with another error.
    func failing(with error: CurlewError, resumeData: Data?) -> RunResult {
        changed(body: body, error: error, isStatusCheckOnly: false, resumeData: resumeData)
    }

    /// A copy without the body.
    var withoutBody: RunResult {
        changed(body: .none, error: error, isStatusCheckOnly: isStatusCheckOnly, resumeData: resumeData)
    }

    private func changed(
        body: ReceivedBody, error: CurlewError?, isStatusCheckOnly: Bool, resumeData: Data?
    ) -> RunResult {
        RunResult(
            request: request, response: response, trailers: trailers, metrics: metrics, body: body, error: error,
            isStatusChecked: isStatusChecked, isStatusCheckOnly: isStatusCheckOnly, resumeData: resumeData,
            sensitiveHeaders: sensitiveHeaders)
    }
}

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
            sensitiveHeaders: run.sensitiveHeaders,
            trailers: run.trailers
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
            sensitiveHeaders: run.sensitiveHeaders,
            trailers: run.trailers
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
