internal import Curlew
internal import Foundation

/// The environment of a run: variables, terminal and outputs.
struct ToolContext: Sendable {
    let environment: [String: String]
    let terminal: Terminal
    let output: OutputFile
    let errors: OutputFile
    /// 1 silences notes, 2 or more also warnings.
    var quietness = 0

    static func current() -> ToolContext {
        let environment = ProcessInfo.processInfo.environment
        return ToolContext(
            environment: environment,
            terminal: Terminal.current(environment: environment),
            output: .standardOutput,
            errors: .standardError
        )
    }

    var errorPalette: Palette { Palette(isColored: terminal.isError && !terminal.noColor) }

    func report(_ error: UsageError) { try? errors.write(ErrorReport.usage(error, palette: errorPalette)) }

    /// Reports the error. `subject` names the download that failed, if there are several.
    func report(_ error: CurlewError, about subject: String? = nil, rows: [FailureText.Row] = FailureText.rows) {
        var report = ErrorReport(error, rows: rows)
        if let subject { report.what = "\(subject): \(report.what)" }
        try? errors.write(report.text(palette: errorPalette))
    }

    func warn(_ text: String) {
        guard quietness < 2 else { return }
        try? errors.write("\(errorPalette(.warning, "curlew: warning:")) \(TerminalText.escaped(text))\n")
    }

    func note(_ text: String) {
        guard quietness < 1 else { return }
        try? errors.write("curlew: \(TerminalText.escaped(text))\n")
    }
}

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
