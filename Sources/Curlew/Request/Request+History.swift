internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

// The history of a request: its attempts, and the last value of each kind.
extension Request {
    /// The attempts so far, oldest first: one, and another for each retry. Empty before the request has begun.
    ///
    /// A request that failed before it was sent has an attempt with an `error` and without `tasks`. Of a request that is
    /// retried more than 18 times, the first two and the last 17 attempts are kept.
    public var attempts: [Attempt] { record.withLock { $0.history.attempts } }

    /// The last `URLRequest`, after adaptation.
    public var request: URLRequest? { record.withLock { $0.history.lastRequest }?.urlRequest }
    /// The identifier of the exchange in flight. `nil` if there is none, for instance between two attempts.
    public var task: TaskIdentifier? { record.withLock { $0.startedTask } }
    /// The metrics of the last exchange.
    public var metrics: TransferMetrics? { record.withLock { $0.history.lastMetrics } }

    /// The head of the last response.
    public var response: HTTPURLResponse? { record.withLock { $0.response }?.value }
    /// The head of the last response, as received.
    public var head: ResponseHead? { record.withLock { $0.response }?.head }
    /// The number of retries.
    public var retryCount: Int { record.withLock { $0.history.attempt.number } }
    /// The error with which the request ended, or `nil`.
    public var error: CurlewError? { record.withLock { $0.error } }

    /// A snapshot of the upload progress. Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    public var uploadProgress: Progress { snapshot { ($0.upload, $0.extras?.hooks.uploadProgress) } }
    /// A snapshot of the download progress. Cancelling, pausing or resuming it cancels, suspends or resumes the
    /// request.
    public var downloadProgress: Progress { snapshot { ($0.download, $0.extras?.hooks.downloadProgress) } }

    /// The first and the last method of this attempt. Another attempt would begin with the first.
    var methodsOfAttempt: Set<HTTPMethod> {
        let (first, last) = record.withLock { $0.history.methods }
        return Set([first, last].compactMap(\.self))
    }

    /// Whether a server has carried out a request that must not be repeated, and redirected to its result.
    var wasCarriedOut: Bool {
        let (first, last) = record.withLock { $0.history.methods }
        return first?.isIdempotent == false && first != last
    }

    private func snapshot(_ state: (RequestRecord) -> (TransferCount, ProgressReporter?)) -> Progress {
        let (count, reporter) = record.withLock { state($0) }
        let progress = count.progress
        reporter?.speed.write(to: progress)
        handControl(to: progress)
        return progress
    }
}
