internal import CurlewCore
internal import Foundation

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
    /// Always false for a rejected file: it is gone, so every caller gets the error.
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

    /// The error that concerns every caller. A status that is rejected by default concerns only the awaiting methods
    /// that check it.
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

extension RunResult {
    /// The bytes of the body, or the shared error.
    var unserializedData: Result<Data?, CurlewError> { sharedError.map { .failure($0) } ?? .success(body.contents) }
    /// The URL of the file, or the shared error.
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
