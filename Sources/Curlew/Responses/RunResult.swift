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
