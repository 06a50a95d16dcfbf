internal import Curlew

/// The reason for an early end of a run.
enum ToolFailure: Error {
    case usage(UsageError)
    case request(CurlewError)
    /// A WebSocket failed after it had opened.
    case webSocket(CurlewError)
    case output(OutputFile.Failure)
    case interrupted

    init(_ error: any Error) {
        switch error {
        case let failure as ToolFailure: self = failure
        case let error as UsageError: self = .usage(error)
        case let error as OutputFile.Failure: self = .output(error)
        case let error as CurlewError: self = .request(error)
        case is CancellationError: self = .interrupted
        default: self = .usage(UsageError("\(error)"))
        }
    }

    var status: ExitStatus {
        switch self {
        case .usage: .failure
        case .request(let error), .webSocket(let error): ExitStatus(error)
        case .output(let failure): failure.isBrokenPipe ? .brokenPipe : .failure
        case .interrupted: .interrupted
        }
    }

    func report(to context: ToolContext) {
        switch self {
        case .usage(let error): context.report(error)
        case .request(let error): context.report(error)
        case .webSocket(let error): context.report(error, rows: FailureText.ofWebSockets)
        case .output(let failure):
            // The reader closed the pipe, so there is nothing to report.
            if !failure.isBrokenPipe { context.report(UsageError("cannot write the output: \(failure.text)")) }
        case .interrupted: context.note("interrupted")
        }
    }
}
