public import CurlewCore
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// Tells a logger what requests do. Messages are constant; what differs stands beside them in fields, without
/// credentials, cookies, query values or bodies.
///
///     let monitor = LogEventMonitor { level, message, fields in
///         logger.log(level: level == .error ? .error : .debug, "\(message)", metadata: …)
///     }
public final class LogEventMonitor: EventMonitor {
    /// How much a message matters.
    public enum Level: String, Sendable, Hashable, Comparable {
        /// Every step on the way.
        case debug
        /// What came of a request, retries and cancellations.
        case info
        /// Failures.
        case error

        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rank < rhs.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .error: 2
            }
        }
    }

    /// Writes one line.
    public typealias Writer = @Sendable (_ level: Level, _ message: String, _ fields: [String: String]) -> Void

    /// Where lines are written.
    public let queue: DispatchQueue
    private let minimumLevel: Level
    private let write: Writer

    /// Hands lines of at least `minimumLevel` to `write`.
    public init(
        minimumLevel: Level = .debug,
        queue: DispatchQueue = DispatchQueue(label: "curlew.log"),
        write: @escaping Writer
    ) {
        self.minimumLevel = minimumLevel
        self.queue = queue
        self.write = write
    }

    /// Writes lines to standard error.
    public convenience init(minimumLevel: Level = .info) {
        self.init(minimumLevel: minimumLevel) { level, message, fields in
            let details = fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
            try? FileHandle.standardError.write(contentsOf: Data("[\(level.rawValue)] \(message) \(details)\n".utf8))
        }
    }

    private func log(_ level: Level, _ message: String, _ request: Request, _ more: [String: String] = [:]) {
        guard level >= minimumLevel else { return }
        var fields = more
        if let sent = request.lastRequest {
            fields["method"] = sent.httpMethod ?? "GET"
            fields["url"] = sent.url.map { Redaction.redacted($0).absoluteString }
        }
        write(level, message, fields)
    }

    public func requestDidResume(_ request: Request) { log(.debug, "request resumed", request) }

    public func requestDidSuspend(_ request: Request) { log(.debug, "request suspended", request) }

    public func requestDidCancel(_ request: Request) { log(.info, "request cancelled", request) }

    public func requestIsRetrying(_ request: Request) {
        log(.info, "request retries", request, ["retry": "\(request.retryCount)"])
    }

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        log(.debug, "exchange started", request, ["task": "\(task)"])
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

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        var fields = ["task": "\(task)"]
        fields["status"] = request.head.map { "\($0.status)" }
        fields["milliseconds"] = request.metrics.map { "\(Int($0.duration * 1000))" }
        fields["code"] = error?.code.rawValue
        log(error == nil ? .info : .error, error == nil ? "exchange ended" : "exchange failed", request, fields)
    }
}
