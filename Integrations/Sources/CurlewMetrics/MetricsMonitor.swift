public import Curlew
public import Dispatch
public import Foundation
public import FoundationNetworking
public import Metrics
internal import Synchronization

/// Records metrics of a session's requests with swift-metrics, under OpenTelemetry's names for HTTP clients.
///
///     let session = Session(eventMonitors: [MetricsMonitor()])
///
/// | metric | kind | what it measures |
/// |---|---|---|
/// | `http.client.request.duration` | timer, in seconds | each request on the wire: attempts and redirects count separately |
/// | `curlew.client.bytes_sent`, `curlew.client.bytes_received` | recorders | its bytes, heads and encoded bodies |
/// | `http.client.active_requests` | meter | the requests on the wire at this moment |
/// | `curlew.client.retries` | counter | the attempts that followed another one |
/// | `curlew.client.decisions` | counter | the decisions of the session's ``Resilience``, by the dimension `curlew.decision` |
/// | `curlew.client.admission.wait` | timer, in seconds | the time that an attempt has waited for one of them |
/// | `curlew.client.session.decisions` | counter | circuits that open and close, endpoints that are ejected and return, and second copies that are refused, by the dimension `curlew.decision` |
///
/// Their dimensions are bounded: see `MetricLabels`. A monitor that is added to one request instead of the session measures no
/// durations and bytes.
public final class MetricsMonitor: EventMonitor {
    /// The queue on which values are recorded.
    public let queue: DispatchQueue
    private let instruments: Instruments
    private let labels: MetricLabels
    private let running = Mutex<[UUID: RunningExchange]>([:])

    /// The exchange of a request that is on the wire.
    private struct RunningExchange: Sendable {
        /// The request that is sent next. A redirect replaces it before its exchange begins.
        var sent: URLRequest?
        /// Whether `sent` follows a redirect.
        var isRedirected = false
        var active: [Dimension]?
        var status: Int?
        var metrics: TransferMetrics?
    }

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - factory: The metrics backend.
    ///   - labels: The dimensions.
    public init(factory: any MetricsFactory = MetricsSystem.factory, labels: MetricLabels = MetricLabels()) {
        instruments = Instruments(factory)
        self.labels = labels
        queue = DispatchQueue(label: "curlew.metrics")
    }

    // MARK: Events

    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        change(request) { ($0.sent, $0.isRedirected) = (urlRequest, false) }
    }

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        // No event has ended the exchange before: its response was a challenge, which the session has answered.
        running.withLock { if $0[request.id]?.active != nil { $0[request.id]?.status = 401 } }
        endExchange(of: request, error: nil)
        // The labels call the user's closure, so they are made without the lock. All events are on one queue.
        let active = dimensions(of: request)
        change(request) { $0.active = active }
        instruments.meter("http.client.active_requests", active).increment()
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
        change(request) { $0.status = head.status }
    }

    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        change(request) { $0.metrics = metrics }
    }

    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {
        endExchange(of: request, error: error)
    }

    public func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) {
        change(request) { $0.status = head.status }
        endExchange(of: request, error: nil)
        change(request) { ($0.sent, $0.isRedirected) = (newRequest, true) }
    }

    public func requestIsRetrying(_ request: Request) {
        instruments.counter("curlew.client.retries", dimensions(of: request)).increment()
    }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {
        let dimensions = dimensions(of: request) + [Dimension("curlew.decision", decision.label)]
        instruments.counter("curlew.client.decisions", dimensions).increment()
        guard case .attempt(let admission) = decision else { return }
        instruments.timer("curlew.client.admission.wait", dimensions).recordSeconds(admission.waited / .seconds(1))
    }

    public func session(_ session: SessionReference, didDecide decision: SessionDecision) {
        let dimensions = labels.server(decision.origin) + [Dimension("curlew.decision", decision.label)]
        instruments.counter("curlew.client.session.decisions", dimensions).increment()
    }

    public func requestDidFinish(_ request: Request) {
        // An exchange that failed before it was sent has no event for its end.
        endExchange(of: request, error: request.error)
        _ = running.withLock { $0.removeValue(forKey: request.id) }
    }

    // MARK: Recording

    private func change(_ request: Request, _ body: (inout RunningExchange) -> Void) {
        running.withLock { body(&$0[request.id, default: RunningExchange()]) }
    }

    /// The dimensions of the request that was sent last. If a handler's serializer fails, a request is retried after it has
    /// finished, when this monitor has no state of it: then the request's history is asked.
    private func dimensions(of request: Request) -> [Dimension] {
        let last = running.withLock { $0[request.id] }
        // The template describes the request's own URL, and a redirect leads to another one.
        let template = last?.isRedirected == true ? nil : request.urlTemplate
        return labels.sent(last?.sent ?? request.request, template: template)
    }

    /// Records the exchange, if one has begun and not been recorded.
    private func endExchange(of request: Request, error: CurlewError?) {
        let ended = running.withLock { running -> RunningExchange? in
            guard let exchange = running[request.id], exchange.active != nil else { return nil }
            running[request.id] = RunningExchange(sent: exchange.sent, isRedirected: exchange.isRedirected)
            return exchange
        }
        guard let ended, let active = ended.active else { return }
        instruments.meter("http.client.active_requests", active).decrement()
        guard let metrics = ended.metrics else { return }
        let dimensions = active + labels.result(status: ended.status, error: error, metrics)
        instruments.timer("http.client.request.duration", dimensions).recordSeconds(metrics.duration)
        instruments.recorder("curlew.client.bytes_sent", dimensions).record(metrics.bytesSent)
        instruments.recorder("curlew.client.bytes_received", dimensions).record(metrics.bytesReceived)
    }
}

extension ResilienceDecision {
    /// The decision without its numbers.
    fileprivate var label: String {
        switch self {
        case .attempt(let admission): "\(admission.decision)"
        case .retryRefusedByCircuit: "retryRefusedByCircuit"
        case .retryRefusedByBudget: "retryRefusedByBudget"
        }
    }
}

extension SessionDecision {
    /// The decision without its numbers.
    fileprivate var label: String {
        switch self {
        case .circuitOpened: "circuitOpened"
        case .circuitClosed: "circuitClosed"
        case .endpointEjected: "endpointEjected"
        case .endpointReturned: "endpointReturned"
        case .hedgeRefused: "hedgeRefused"
        }
    }

    /// The origin that the decision is about. `nil` for a circuit whose name is a key, or that all origins share.
    fileprivate var origin: ConnectionSnapshot.Origin? {
        switch self {
        case .circuitOpened(let name, _, _), .circuitClosed(let name), .hedgeRefused(let name, _):
            // The key of a request follows the origin.
            name.split(separator: " ").first.flatMap { URL(string: String($0)) }.flatMap(ConnectionSnapshot.Origin.init)
        case .endpointEjected(let url, _), .endpointReturned(let url): ConnectionSnapshot.Origin(url)
        }
    }
}
