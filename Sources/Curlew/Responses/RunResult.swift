internal import CurlewCore
internal import Foundation

/// The result of a run. Every awaiting method gets the same one, and applies its own rules to it.
final class RunResult: Sendable {
    let request: VisibleRequest?
    let response: LazyResponse?
    let metrics: TransferMetrics?
    let body: ReceivedBody
    let error: CurlewError?
    /// Whether `error` exists only because the awaiting method that started the run rejects unacceptable statuses.
    let isErrorOfTerminal: Bool
    /// Whether the request has to be repeated at once, because the next attempt asks differently.
    let startsOver: Bool
    /// Whether another attempt would end in the same way, so that no retrier is asked.
    let isBeyondRetry: Bool
    let resumeData: Data?
    /// The names of the fields that the session treats as secret.
    let sensitiveHeaders: [String]

    init(
        request: VisibleRequest? = nil,
        response: LazyResponse? = nil,
        metrics: TransferMetrics? = nil,
        body: ReceivedBody = .none,
        error: CurlewError?,
        isErrorOfTerminal: Bool = false,
        startsOver: Bool = false,
        isBeyondRetry: Bool = false,
        resumeData: Data? = nil,
        sensitiveHeaders: [String] = []
    ) {
        self.request = request
        self.response = response
        self.metrics = metrics
        self.body = body
        var error = error
        if let resumeData { error?.downloadResumeData = resumeData }
        self.error = error
        self.isErrorOfTerminal = isErrorOfTerminal
        self.startsOver = startsOver
        self.isBeyondRetry = isBeyondRetry
        self.resumeData = resumeData
        self.sensitiveHeaders = sensitiveHeaders
    }

    /// The error for awaiting methods that do not check the status themselves.
    var sharedError: CurlewError? { isErrorOfTerminal ? nil : error }
}

extension RunResult {
    func failing(with error: CurlewError, resumeData: Data?) -> RunResult {
        RunResult(
            request: request,
            response: response,
            metrics: metrics,
            body: body,
            error: error,
            resumeData: resumeData,
            sensitiveHeaders: sensitiveHeaders
        )
    }

    /// The result without its body.
    var withoutBody: RunResult {
        RunResult(
            request: request,
            response: response,
            metrics: metrics,
            error: error,
            isErrorOfTerminal: isErrorOfTerminal,
            resumeData: resumeData,
            sensitiveHeaders: sensitiveHeaders
        )
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
