public import Curlew
public import Dispatch
internal import Foundation
public import FoundationNetworking
public import Logging
internal import Synchronization

/// Writes the log of a session's requests with swift-log.
///
///     let logging = LoggingMonitor()
///     let session = Session(interceptor: logging, eventMonitors: [logging])
///
/// The lines are those of `LogEventMonitor`: constant messages, and details as metadata. Credentials, cookies, query values
/// and bodies are never logged.
///
/// As the session's interceptor it captures the logger when a request begins, in the task that awaits it first: the task's
/// `Logger.current`, with what its metadata provider returns there, such as the identifier of a trace. As a monitor alone,
/// for requests that could not be created, and for circuits and endpoints, it writes to the logger of `init`, or to one with the label `curlew`. As an
/// interceptor alone it writes nothing, and keeps at most 10,000 loggers.
public final class LoggingMonitor: RequestInterceptor, EventMonitor {
    /// The queue on which lines are written.
    public let queue: DispatchQueue
    private let logger: Logger?
    private let style: LogStyle
    /// The monitor of requests that no adapter has seen, because they could not be created or this object is not the
    /// session's interceptor.
    private let fallback: LogEventMonitor
    /// One monitor for each request whose logger was captured. They are called, but not added to the session.
    private let captured = Mutex(CapturedMonitors())

    /// The number of requests whose loggers are kept.
    package var capturedCount: Int { captured.withLock(\.count) }

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - logger: The logger of all requests. `nil` for the task-local logger of each request.
    ///   - style: The levels and metadata keys.
    public init(_ logger: Logger? = nil, style: LogStyle = LogStyle()) {
        self.logger = logger
        self.style = style
        queue = DispatchQueue(label: "curlew.logging")
        fallback = style.monitor(writingTo: logger ?? Logger(label: "curlew"), on: queue)
    }

    /// Captures the logger. Returns the request unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        let id = state.requestID
        guard captured.withLock({ $0[id] == nil }) else { return urlRequest }
        let monitor = style.monitor(writingTo: (logger ?? Logger.current).bindingProvidedMetadata(), on: queue)
        captured.withLock { $0.capture(monitor, of: id) }
        return urlRequest
    }

    // MARK: Events

    public func requestDidResume(_ request: Request) {
        // The first start is notified before the adapters run. If its logger is not known yet, "exchange started" is the
        // first line.
        captured.withLock { $0[request.id] }?.requestDidResume(request)
    }

    public func requestDidSuspend(_ request: Request) { monitor(of: request).requestDidSuspend(request) }

    public func requestDidCancel(_ request: Request) { monitor(of: request).requestDidCancel(request) }

    public func requestIsRetrying(_ request: Request) {
        // The request may have finished before, because a handler's serializer failed.
        captured.withLock { $0.markRunning(request.id) }
        monitor(of: request).requestIsRetrying(request)
    }

    public func requestDidFinish(_ request: Request) {
        captured.withLock { $0.finish(request.id) }?.requestDidFinish(request)
        // It may have had events of the request from before the logger was captured, and must not keep their state.
        fallback.requestDidFinish(request)
    }

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        captured.withLock { $0.markRunning(request.id) }
        monitor(of: request).request(request, didCreateTask: task)
    }

    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {
        monitor(of: request).request(request, didFailToCreateURLRequestWithError: error)
    }

    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) {
        monitor(of: request).request(request, didFailToAdaptURLRequest: initialRequest, withError: error)
    }

    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        monitor(of: request).request(request, didGatherMetrics: metrics)
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        monitor(of: request).request(request, didCompleteTask: task, with: error)
    }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {
        monitor(of: request).request(request, didDecide: decision)
    }

    public func session(_ session: SessionReference, didDecide decision: SessionDecision) {
        fallback.session(session, didDecide: decision)
    }

    private func monitor(of request: Request) -> LogEventMonitor {
        captured.withLock { $0[request.id] } ?? fallback
    }
}

extension Request {
    /// Writes the log of this request to `logger`, with what its metadata provider returns now.
    ///
    ///     try await session.request(url).logging(to: logger).data()
    @discardableResult
    public func logging(to logger: Logger = .current, style: LogStyle = LogStyle()) -> Self {
        let queue = DispatchQueue(label: "curlew.logging")
        return eventMonitor(style.monitor(writingTo: logger.bindingProvidedMetadata(), on: queue))
    }
}
