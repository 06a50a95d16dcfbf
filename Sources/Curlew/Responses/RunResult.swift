internal import CurlewCore
internal import Foundation

/// The result of a run. Every awaiting method gets the same one, and applies its own rules to it.
final class RunResult: Sendable {
    let request: RequestSnapshot?
    let response: LazyResponse?
    let metrics: TransferMetrics?
    let body: ReceivedBody
    let error: CurlewError?
    /// Whether `error` exists only because the awaiting method that started the run rejects unacceptable statuses.
    let isErrorOfAwaiter: Bool
    /// Whether the request has to be repeated at once, because the next attempt asks differently.
    let startsOver: Bool
    /// Whether another attempt would end in the same way, so that no retrier is asked.
    let isBeyondRetry: Bool
    let resumeData: Data?
    /// The names of the fields that the session treats as secret.
    let sensitiveHeaders: [String]

    init(
        request: RequestSnapshot? = nil,
        response: LazyResponse? = nil,
        metrics: TransferMetrics? = nil,
        body: ReceivedBody = .none,
        error: CurlewError?,
        isErrorOfAwaiter: Bool = false,
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
        self.isErrorOfAwaiter = isErrorOfAwaiter
        self.startsOver = startsOver
        self.isBeyondRetry = isBeyondRetry
        self.resumeData = resumeData
        self.sensitiveHeaders = sensitiveHeaders
    }

    /// The error for awaiting methods that do not check the status themselves.
    var sharedError: CurlewError? { isErrorOfAwaiter ? nil : error }
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
            isErrorOfAwaiter: isErrorOfAwaiter,
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

/// The location of a received body.
enum ReceivedBody: Sendable {
    case none
    case data(Data)
    case file(URL)
    /// Delivered to a reader piece by piece.
    case streamed

    var data: Data? {
        switch self {
        case .data(let data): data
        case .none, .file, .streamed: nil
        }
    }

    var fileURL: URL? {
        switch self {
        case .file(let url): url
        case .none, .data, .streamed: nil
        }
    }

    /// The bytes of the body, from memory or from the file.
    var contents: Data? {
        switch self {
        case .none, .streamed: nil
        case .data(let data): data
        // Mapped, because the file may exceed the limit for bodies in memory.
        case .file(let url): try? Data(contentsOf: url, options: .mappedIfSafe)
        }
    }
}
