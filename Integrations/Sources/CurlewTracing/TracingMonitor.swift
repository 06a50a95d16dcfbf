public import Curlew
public import Dispatch
public import Foundation
public import FoundationNetworking
internal import Synchronization
public import Tracing

/// Makes client spans for the requests on the wire, with swift-distributed-tracing.
///
///     let tracing = TracingMonitor()
///     let configuration = SessionConfiguration { $0.exchangeAdapters = [tracing] }
///     let session = Session(configuration: configuration, eventMonitors: [tracing])
///
/// As an exchange adapter it starts the spans, as an event monitor it ends them, so it needs both places. Of spans whose
/// exchanges no event has mentioned, it keeps at most 10,000: if there are more, it ends the oldest without a response.
///
/// Each attempt, redirect and answered challenge has a separate span. They are siblings: children of the span that is
/// current in the task that makes the request. The span's context is added to the fields of that request alone. Attributes
/// and names follow OpenTelemetry's stable conventions for HTTP clients. User information and query values are left out of
/// `url.full`, and header fields are never recorded.
///
/// Requests that repeat an adapted one share its span and its context: see `ExchangeAdapter`. The segments of a download
/// have a span each, all with the status and the connection of the whole exchange.
///
/// | attribute | when |
/// |---|---|
/// | `http.request.method`, `server.address`, `server.port`, `url.full` | always |
/// | `http.request.method_original` | if the method is not a known one; `http.request.method` is then `_OTHER` |
/// | `http.request.resend_count` | from the second request on the wire |
/// | `http.response.status_code` | with a response |
/// | `error.type` | a status from 400, or the code of the `CurlewError` |
/// | `network.protocol.version`, `network.peer.address`, `network.peer.port` | with a connection |
/// | `curlew.admission` | the ``Admission`` of the attempt, if the session has a ``Resilience`` |
/// | `url.template` | with a template: that of `Request.urlTemplate(_:)`, or else what `template` returns |
public final class TracingMonitor: ExchangeAdapter, EventMonitor {
    /// The queue on which spans are ended.
    public let queue: DispatchQueue
    private let tracer: any Tracer
    private let injectsAcrossOrigins: Bool
    private let template: @Sendable (URLRequest) -> String?
    private let state = Mutex(State())

    /// The number of exchanges with spans that have not ended.
    package var startedCount: Int { state.withLock(\.spans.count) }

    private struct State: Sendable {
        var spans: [ExchangeKey: StartedSpans] = [:]
        /// The exchanges that have begun, by the request.
        var exchanges: [UUID: EndedExchange] = [:]
        /// The admissions of attempts whose first exchange has not begun, by the request.
        var admissions: [UUID: Admission] = [:]
        /// The exchanges with spans, in the order in which they were started. Some may have ended.
        var started: [ExchangeKey] = []

        /// Returns the spans of old exchanges that no event has mentioned, if too many have been started: this object is
        /// not a monitor of their session, or they ended while the span was being started.
        mutating func dropUnhandledSpans() -> [any Span] {
            guard started.count > 10_000 else { return [] }
            let older = Array(started.prefix(started.count / 2))
            started.removeFirst(older.count)
            return older.filter { exchanges[$0.request]?.task != $0.task }
                .flatMap { spans.removeValue(forKey: $0)?.spans ?? [] }
        }
    }

    /// Identifies an exchange among those of all sessions that have this monitor.
    private struct ExchangeKey: Hashable, Sendable {
        let request: UUID
        let task: TaskIdentifier
    }

    /// The spans of an exchange. There are several if a download is sent in segments.
    private struct StartedSpans: Sendable {
        let resendCount: Int
        var spans: [any Span]
    }

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - tracer: The tracer; by default the process's, which has to be bootstrapped before.
    ///   - injectsAcrossOrigins: Whether a redirect to another origin carries the context. By default it does not, because
    ///     the server chooses that origin, and baggage may be confidential.
    ///   - template: Returns the `url.template` of a request that has none itself, and of redirects. It becomes part of the
    ///     span's name, as that of `Request.urlTemplate(_:)` does.
    public init(
        tracer: any Tracer = InstrumentationSystem.tracer, injectsAcrossOrigins: Bool = false,
        template: @escaping @Sendable (URLRequest) -> String? = { _ in nil }
    ) {
        self.tracer = tracer
        self.injectsAcrossOrigins = injectsAcrossOrigins
        self.template = template
        queue = DispatchQueue(label: "curlew.tracing")
    }

    /// Starts the span, and adds its context to the request's fields.
    public func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest {
        var request = urlRequest
        let span = start(urlRequest, for: exchange)
        let (challenged, unhandled) = register(span, for: exchange)
        for span in challenged { EndedExchange(challenged: exchange.task).end(span, error: nil) }
        for span in unhandled { EndedExchange(task: exchange.task).end(span, error: nil) }
        if injectsAcrossOrigins || !exchange.leavesOrigin {
            tracer.inject(span.context, into: &request, using: FieldInjector())
        }
        return request
    }

    /// Records the span until its exchange ends. Returns the spans to end: those of a request that was challenged, and is
    /// sent again with credentials, because to event monitors both are one exchange; and those that no event will end.
    private func register(
        _ span: any Span, for exchange: ExchangeInfo
    ) -> (challenged: [any Span], unhandled: [any Span]) {
        let key = ExchangeKey(request: exchange.requestID, task: exchange.task)
        return state.withLock { state in
            let known = state.spans[key]
            if let known, known.resendCount == exchange.resendCount {
                state.spans[key]?.spans.append(span)
                return ([], [])
            }
            state.spans[key] = StartedSpans(resendCount: exchange.resendCount, spans: [span])
            if known == nil { state.started.append(key) }
            return (known?.spans ?? [], state.dropUnhandledSpans())
        }
    }

    private func start(_ request: URLRequest, for exchange: ExchangeInfo) -> any Span {
        let attributes = RequestAttributes(
            request, template: exchange.urlTemplate ?? template(request), resendCount: exchange.resendCount)
        let span: any Span = tracer.startSpan(
            attributes.spanName, context: ServiceContext.current ?? .topLevel, ofKind: .client)
        span.updateAttributes(attributes.write)
        return span
    }

    // MARK: Events

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        // No event has ended the exchange before: its response was a challenge, which the session has answered.
        state.withLock { $0.exchanges[request.id]?.status = 401 }
        endExchange(of: request, error: nil)
        state.withLock { state in
            state.exchanges[request.id] = EndedExchange(
                task: task, admission: state.admissions.removeValue(forKey: request.id))
        }
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
        state.withLock { $0.exchanges[request.id]?.status = head.status }
    }

    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        state.withLock { $0.exchanges[request.id]?.metrics = metrics }
    }

    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {
        endExchange(of: request, error: error)
    }

    public func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) {
        state.withLock { $0.exchanges[request.id]?.status = head.status }
        endExchange(of: request, error: nil)
    }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {
        guard case .attempt(let admission) = decision else { return }
        state.withLock { $0.admissions[request.id] = admission }
    }

    public func requestDidFinish(_ request: Request) {
        endExchange(of: request, error: request.error)
        // The admission of an attempt that was not sent.
        state.withLock { _ = $0.admissions.removeValue(forKey: request.id) }
    }

    /// Ends the spans of the request's exchange, if it has one that has not ended.
    private func endExchange(of request: Request, error: CurlewError?) {
        let ended = state.withLock { state -> (EndedExchange, [any Span])? in
            guard let exchange = state.exchanges.removeValue(forKey: request.id) else { return nil }
            let key = ExchangeKey(request: request.id, task: exchange.task)
            return (exchange, state.spans.removeValue(forKey: key)?.spans ?? [])
        }
        guard let (exchange, spans) = ended else { return }
        for span in spans { exchange.end(span, error: error) }
    }
}

/// Sets a header field of a request.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout URLRequest) {
        carrier.setValue(value, forHTTPHeaderField: key)
    }
}
