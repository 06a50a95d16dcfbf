public import CurlewCore
internal import CurlewLocks
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// Writes a log of requests. Messages are constant, and details are fields: `method`, `url`, `status`, `milliseconds`,
/// `attempt`, `task`, `code`, `field`, `hedge` and `reason`. `attempt` counts from 1, unlike `Attempt.number`. `hedge` is
/// there if a second copy was sent (``Hedging``): `won` if its response was used, otherwise `lost`. `reason` describes a
/// ``ResilienceDecision`` or a ``SessionDecision``. Credentials, cookies, query values and bodies are never logged.
///
///     let monitor = LogEventMonitor { level, message, fields in
///         logger.log(level: level == .error ? .error : .debug, "\(message)", metadata: …)
///     }
public final class LogEventMonitor: EventMonitor {
    /// The severity of a message.
    public enum Level: String, Sendable, Hashable, Comparable {
        /// Every step, attempts that failed and are retried, and second copies that are refused.
        case debug
        /// The end of an exchange, retries and cancellations, and circuits and endpoints that are used again.
        case info
        /// Responses with a server error, responses that were rejected for their status, attempts and retries that the
        /// session's resilience refuses, circuits that open and endpoints that are ejected.
        case warning
        /// Failures without a usable response.
        case error

        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rank < rhs.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }

        /// The level of an exchange that is the last of its request.
        init(status: Int?, error: CurlewError?) {
            switch error?.code {
            case nil: self = (status ?? 0) >= 500 ? .warning : .info
            case .cancelled: self = .info
            case .unacceptableStatus: self = .warning
            default: self = .error
            }
        }
    }

    /// The queue on which lines are written.
    public let queue: DispatchQueue
    private let minimumLevel: Level
    private let write: @Sendable (_ level: Level, _ message: String, _ fields: [String: String]) -> Void
    private let running = Lock<[RequestKey: RunningRequest]>([:])

    /// The state of a request, from its first exchange, or a retry after it has finished, until it has finished.
    private struct RunningRequest: Sendable {
        var attempt = 1
        var milliseconds: Int?
        /// The second copy of the exchange that has collected its metrics and not ended yet.
        var hedge: Hedge?
        /// The trailer fields that were dropped from the response of that exchange.
        var droppedTrailers: [String] = []
        /// The exchange that ended last, if it is not logged yet. Its level depends on the next event: a failure that
        /// is followed by a retry matters less.
        var ended: Ended?
    }

    /// The number of requests that the monitor holds state for.
    package var requestsInProgress: Int { running.withLock(\.count) }

    private struct Ended: Sendable {
        let level: Level
        let message: String
        let fields: [String: String]
    }

    /// Creates a monitor that passes lines of at least `minimumLevel` to `write`.
    public init(
        minimumLevel: Level = .debug,
        queue: DispatchQueue = DispatchQueue(label: "curlew.log"),
        write: @escaping @Sendable (_ level: Level, _ message: String, _ fields: [String: String]) -> Void
    ) {
        self.minimumLevel = minimumLevel
        self.queue = queue
        self.write = write
    }

    /// Creates a monitor that writes to standard error.
    public convenience init(minimumLevel: Level = .info) {
        self.init(minimumLevel: minimumLevel) { level, message, fields in
            let details = fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
            try? FileHandle.standardError.write(contentsOf: Data("[\(level.rawValue)] \(message) \(details)\n".utf8))
        }
    }

    private func log(_ level: Level, _ message: String, _ request: Request, _ more: [String: String] = [:]) {
        guard level >= minimumLevel else { return }
        write(level, message, fields(of: request).merging(more) { $1 })
    }

    public func requestDidResume(_ request: Request) { log(.debug, "request resumed", request) }

    public func requestDidSuspend(_ request: Request) { log(.debug, "request suspended", request) }

    public func requestDidCancel(_ request: Request) { log(.info, "request cancelled", request) }

    public func requestIsRetrying(_ request: Request) {
        logEnded(of: request, atMost: .debug)
        // A retrier may be asked after `requestDidFinish`, about a body that could not be decoded: then the state is gone.
        let sent = request.retryCount + 1
        let attempt = running.withLock { running in
            let attempt = running[RequestKey(request)].map { $0.attempt + 1 } ?? sent
            running[RequestKey(request), default: RunningRequest()].attempt = attempt
            return attempt
        }
        log(.info, "request retries", request, ["attempt": "\(attempt)"])
    }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {
        let (level, message): (Level, String)
        switch decision {
        case .attempt(let admission) where admission.decision == .admitted:
            (level, message) = (.debug, "request admitted")
        case .attempt: (level, message) = (.warning, "request not admitted")
        case .retryRefusedByCircuit, .retryRefusedByBudget: (level, message) = (.warning, "retry not permitted")
        }
        log(level, message, request, ["reason": decision.description])
    }

    public func session(_ session: SessionReference, didDecide decision: SessionDecision) {
        let (level, message): (Level, String) =
            switch decision {
            case .circuitOpened: (.warning, "circuit opened")
            case .circuitClosed: (.info, "circuit closed")
            case .endpointEjected: (.warning, "endpoint ejected")
            case .endpointReturned: (.info, "endpoint returned")
            case .hedgeRefused: (.debug, "second copy refused")
            }
        if level >= minimumLevel { write(level, message, ["reason": decision.description]) }
    }

    public func requestDidFinish(_ request: Request) {
        logEnded(of: request)
        running.withLock { _ = $0.removeValue(forKey: RequestKey(request)) }
    }

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        // If the end of the previous exchange is not logged yet, this exchange replaces it, so it is only a detail.
        logEnded(of: request, atMost: .debug)
        let attempt = running.withLock { $0[RequestKey(request)]?.attempt } ?? 1
        log(.debug, "exchange started", request, ["task": "\(task)", "attempt": "\(attempt)"])
    }

    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {
        log(.error, "request could not be created", request, ["code": error.code.rawValue])
    }

    public func request(
        _ request: Request,
        didFailToAdaptURLRequest initialRequest: URLRequest,
        withError error: CurlewError
    ) {
        log(.error, "request could not be adapted", request, ["code": error.code.rawValue])
    }

    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        change(request) { run in
            run.milliseconds = Int(metrics.duration * 1000)
            run.hedge = metrics.hedge
            run.droppedTrailers = metrics.droppedTrailers
        }
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        let status = error?.responseCode ?? request.head?.status
        var fields = self.fields(of: request)
        fields["task"] = "\(task)"
        fields["status"] = status.map { "\($0)" }
        fields["code"] = error?.code.rawValue
        let (level, known) = (Level(status: status, error: error), fields)
        let dropped = change(request) { run in
            var fields = known
            fields["attempt"] = "\(run.attempt)"
            fields["milliseconds"] = run.milliseconds.map { "\($0)" }
            fields["hedge"] = exchange(&run.hedge, with: nil).map { $0.hasWon ? "won" : "lost" }
            run.ended = Ended(
                level: level, message: error == nil ? "exchange ended" : "exchange failed", fields: fields)
            return exchange(&run.droppedTrailers, with: [])
        }
        for name in dropped { log(.debug, "trailer field dropped", request, ["field": name]) }
    }

    private func change<Result>(_ request: Request, _ body: (inout RunningRequest) -> Result) -> Result {
        running.withLock { body(&$0[RequestKey(request), default: RunningRequest()]) }
    }

    /// Logs the end of the last exchange, with at most the level `highest`.
    private func logEnded(of request: Request, atMost highest: Level = .error) {
        let ended = running.withLock { running -> Ended? in
            let ended = running[RequestKey(request)]?.ended
            running[RequestKey(request)]?.ended = nil
            return ended
        }
        guard let ended, min(ended.level, highest) >= minimumLevel else { return }
        write(min(ended.level, highest), ended.message, ended.fields)
    }

    private func fields(of request: Request) -> [String: String] {
        guard let sent = request.request else { return [:] }
        var fields = ["method": sent.httpMethod ?? "GET"]
        fields["url"] = sent.url.map { Redaction.redacted($0).absoluteString }
        return fields
    }
}
