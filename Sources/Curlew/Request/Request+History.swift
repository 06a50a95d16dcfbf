internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

// What has happened so far, attempt by attempt.
extension Request {
    /// The initial and the adapted `URLRequest` of every attempt, and those of redirects.
    public var requests: [URLRequest] { record.withLock { $0.history.requests.all.map(\.urlRequest) } }
    /// The first `URLRequest`, before any adapter.
    public var firstRequest: URLRequest? { record.withLock { $0.history.requests.first?.urlRequest } }
    /// The last `URLRequest`, after adaptation.
    public var lastRequest: URLRequest? { record.withLock { $0.history.requests.last?.urlRequest } }
    /// The last `URLRequest`, after adaptation.
    public var request: URLRequest? { lastRequest }
    /// The `URLRequest`s that were sent.
    public var performedRequests: [URLRequest] {
        record.withLock { record in record.history.requests.all.suffix(record.history.tasks.count).map(\.urlRequest) }
    }

    /// The identifiers of all exchanges.
    public var tasks: [TaskIdentifier] { record.withLock { $0.history.tasks.all } }
    /// The identifier of the first exchange.
    public var firstTask: TaskIdentifier? { record.withLock { $0.history.tasks.first } }
    /// The identifier of the last exchange.
    public var lastTask: TaskIdentifier? { record.withLock { $0.history.tasks.last } }
    /// The identifier of the exchange in flight; nil where there is none, also between two attempts.
    public var task: TaskIdentifier? { record.withLock { $0.startedTask } }

    /// The metrics of all exchanges.
    public var allMetrics: [TransferMetrics] { record.withLock { $0.history.metrics.all } }
    /// The metrics of the first exchange.
    public var firstMetrics: TransferMetrics? { record.withLock { $0.history.metrics.first } }
    /// The metrics of the last exchange.
    public var lastMetrics: TransferMetrics? { record.withLock { $0.history.metrics.last } }
    /// The metrics of the last exchange.
    public var metrics: TransferMetrics? { lastMetrics }

    /// The head of the last response.
    public var response: HTTPURLResponse? { record.withLock { $0.transfer.response }?.value }
    /// The head of the last response, as received.
    public var head: ResponseHead? { record.withLock { $0.transfer.response }?.head }
    /// The number of retries.
    public var retryCount: Int { record.withLock { $0.history.retryCount } }
    /// The error with which the request ended, or nil.
    public var error: CurlewError? { record.withLock { $0.error } }

    /// A snapshot of the upload progress. Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    public var uploadProgress: Progress { snapshot { ($0.transfer.upload, $0.extras?.hooks.uploadProgress) } }
    /// A snapshot of the download progress. Cancelling, pausing or resuming it cancels, suspends or resumes the request.
    public var downloadProgress: Progress { snapshot { ($0.transfer.download, $0.extras?.hooks.downloadProgress) } }

    /// The methods with which this attempt has asked: another one would begin with the first again.
    var methodsOfAttempt: Set<HTTPMethod> {
        let (first, last) = record.withLock { $0.history.methods }
        return Set([first, last].compactMap(\.self))
    }

    /// Whether a server has carried out what may not be repeated, and a redirect led on to its result.
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
