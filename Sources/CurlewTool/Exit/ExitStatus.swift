internal import Curlew

/// The exit status of the command. The numbers are HTTPie's, except that `brokenPipe` is the shell's number for
/// SIGPIPE.
enum ExitStatus: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    case timeout = 2
    case redirection = 3
    case clientError = 4
    case serverError = 5
    case tooManyRedirects = 6
    case interrupted = 130
    /// The reader of the output closed the pipe.
    case brokenPipe = 141

    var meaning: String {
        switch self {
        case .success: "success"
        case .failure: "the command line was wrong, or the request failed"
        case .timeout: "a timeout"
        case .redirection: "with --check-status: the status was 3xx, and the redirect was not followed"
        case .clientError: "with --check-status: the status was 4xx (client error)"
        case .serverError: "with --check-status: the status was 5xx (server error)"
        case .tooManyRedirects: "more redirects than --max-redirects allows"
        case .interrupted: "interrupted by Ctrl-C"
        case .brokenPipe: "the reader of the output closed the pipe"
        }
    }

    /// Returns the exit status for a response status under `--check-status`. A 3xx is an error only if redirects are
    /// not followed.
    static func checking(_ status: Int, follows: Bool) -> ExitStatus {
        switch status {
        case 300..<400 where !follows: .redirection
        case 400..<500: .clientError
        case 500..<600: .serverError
        default: .success
        }
    }
}

extension ExitStatus {
    init(_ error: CurlewError) {
        if error.isTimeout {
            self = .timeout
        } else if error.code == .tooManyRedirects {
            self = .tooManyRedirects
        } else {
            self = .failure
        }
    }
}
