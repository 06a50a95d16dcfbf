internal import CurlewCore
internal import Foundation

/// What a run gave. Every awaiter gets the same one and judges it by its own terminal.
final class RunResult: Sendable {
    let request: VisibleRequest?
    let response: LazyResponse?
    let metrics: TransferMetrics?
    let body: ReceivedBody
    let error: CurlewError?
    /// Whether `error` is only there because the driver's terminal rejects unacceptable statuses.
    let isErrorOfTerminal: Bool
    let resumeData: Data?
    /// Names of fields that the session calls secret.
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

    /// The error that concerns an awaiter who does not check the status by itself.
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

    /// The same where the body is gone.
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
