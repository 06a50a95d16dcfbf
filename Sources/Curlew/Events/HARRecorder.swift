public import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Records a session's exchanges as an HTTP Archive (HAR 1.2), which browsers' developer tools open.
///
///     let recorder = HARRecorder()
///     let session = Session(eventMonitors: [recorder])
///     …
///     try await recorder.write(to: URL(filePath: "session.har"))
///
/// Every exchange is an entry, including redirects and retries. Unless asked for, the archive leaves out credentials,
/// cookies, tokens and query values, all header fields and all fields of forms and JSON whose name says that they are
/// secret, and whole multipart bodies. Exchanges and their bodies are kept in memory, up to limits. Beyond
/// `maximumEntries` the oldest exchanges are dropped, and the archive's comment says how many are missing.
public final class HARRecorder: EventMonitor {
    /// The queue on which the recorder receives events.
    public let queue = DispatchQueue(label: "curlew.har")
    /// Always true: the archive contains bodies.
    public let wantsBodies = true

    private struct State: Sendable {
        /// The `URLRequest` that the next exchange of each request sends.
        var next: [RequestKey: URLRequest] = [:]
        /// The last exchange of each request.
        var latest: [RequestKey: TaskIdentifier] = [:]
        var open: [TaskIdentifier: HARExchange] = [:]
        var done = FinishedExchanges()

        mutating func end(_ task: TaskIdentifier, limit: Int) {
            if let exchange = open.removeValue(forKey: task) { done.append(exchange, limit: limit) }
        }
    }

    private let state = Lock(State())
    /// The number of requests that the recorder holds state for.
    package var requestsInProgress: Int {
        state.withLock { Set($0.next.keys).union($0.latest.keys).union($0.open.values.map(\.request)).count }
    }
    private let includesCredentials: Bool
    private let maximumBodySize: Int
    private let maximumEntries: Int

    /// Creates a recorder that keeps at most `maximumBodySize` bytes of each body, and the last `maximumEntries`
    /// exchanges that have ended.
    public init(includingCredentials: Bool = false, maximumBodySize: Int = 256 * 1024, maximumEntries: Int = 1000) {
        includesCredentials = includingCredentials
        self.maximumBodySize = max(0, maximumBodySize)
        self.maximumEntries = maximumEntries
    }

    /// The archive of all exchanges that have ended.
    public func archive() async throws -> Data {
        // Runs on the recorder's queue, after all events that were emitted before this call.
        let done = await Handoff().run(on: queue) { self.state.withLock { $0.done } }
        let archive = HARArchive(done.inOrder, dropped: done.dropped, showsCredentials: includesCredentials)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(archive)
    }

    /// Writes the archive of all exchanges that have ended, atomically and with mode 0600: bodies and fields may hold
    /// secrets that their names do not reveal.
    public func write(to url: URL) async throws {
        let archive = String(decoding: try await archive(), as: UTF8.self)
        try await StoredText(url).writeNow { archive }
    }

    // MARK: Events

    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        _ = state.withLock { $0.next.updateValue(urlRequest, forKey: RequestKey(request)) }
    }

    public func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) {
        guard case .resumed = change else { return }
        let key = RequestKey(request)
        state.withLock { state in
            // An exchange that continues after `suspend()` is known.
            if let latest = state.latest[key], latest >= task { return }
            guard let sent = state.next[key] else { return }
            // No event says that an exchange has ended with a challenge. The next exchange of the request shows it.
            if let former = state.latest.updateValue(task, forKey: key) {
                state.open[former]?.failure = "answered with a challenge"
                state.end(former, limit: maximumEntries)
            }
            let sensitive = Set(request.context.configuration.redirects.sensitiveHeaders.map { $0.lowercased() })
            state.open[task] = HARExchange(
                request: key,
                sent: sent,
                maximumBodySize: maximumBodySize,
                sensitiveHeaders: sensitive,
                started: Date()
            )
        }
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
        change(task) { $0.response = HARExchange.Response(head) }
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) {
        let limit = maximumBodySize
        change(task) { exchange in
            exchange.bodySize += data.count
            exchange.body.append(data.prefix(max(0, limit - exchange.body.count)))
        }
    }

    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        change(task) { $0.metrics = metrics }
    }

    public func request(
        _ request: Request,
        task: TaskIdentifier,
        willFollowRedirect head: ResponseHead,
        from url: URL,
        to newRequest: URLRequest
    ) {
        change(task) { exchange in
            exchange.response = HARExchange.Response(head)
            exchange.redirectURL = newRequest.url?.absoluteString ?? ""
        }
        end(task)
        _ = state.withLock { $0.next.updateValue(newRequest, forKey: RequestKey(request)) }
    }

    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {
        if let error { change(task) { $0.failure = "\(error)" } }
        end(task)
    }

    public func requestIsRetrying(_ request: Request) {
        // `resume()` on another thread may report the next exchange before the run has reported its `URLRequest`.
        // Without the last attempt's `URLRequest` that event records nothing, and the exchange is recorded when the run
        // reports it too.
        _ = state.withLock { $0.next.removeValue(forKey: RequestKey(request)) }
    }

    public func requestDidFinish(_ request: Request) {
        let key = RequestKey(request)
        state.withLock { state in
            state.next[key] = nil
            guard let last = state.latest.removeValue(forKey: key) else { return }
            // No event ends an exchange that was challenged if its request was given up before the next one began.
            state.open[last]?.failure = "no response was delivered"
            state.end(last, limit: maximumEntries)
        }
    }

    private func change(_ task: TaskIdentifier, _ body: (inout HARExchange) -> Void) {
        // Removed from the table while it changes: if the table held the body too, each append would copy it.
        guard var exchange = state.withLock({ $0.open.removeValue(forKey: task) }) else { return }
        body(&exchange)
        let changed = exchange
        _ = state.withLock { $0.open.updateValue(changed, forKey: task) }
    }

    private func end(_ task: TaskIdentifier) {
        state.withLock { $0.end(task, limit: maximumEntries) }
    }
}

/// One exchange while it is being recorded.
struct HARExchange: Sendable {
    let request: RequestKey
    /// The request as sent. Its body is truncated to the recorder's limit, like that of the response.
    let sent: URLRequest
    let sentBodySize: Int
    /// The lower-case names of the fields that the session's configuration calls sensitive.
    let sensitiveHeaders: Set<String>
    let started: Date
    var response: Response?
    var body = Data()
    var bodySize = 0
    var metrics: TransferMetrics?
    var redirectURL = ""
    var failure: String?

    init(
        request: RequestKey,
        sent: URLRequest,
        maximumBodySize: Int,
        sensitiveHeaders: Set<String>,
        started: Date
    ) {
        var kept = sent
        sentBodySize = sent.httpBody?.count ?? 0
        // A copy, because a slice would keep the whole body in memory.
        if sentBodySize > maximumBodySize {
            kept.httpBody = sent.httpBody.map { Data(Array($0.prefix(maximumBodySize))) }
        }
        self.request = request
        self.sent = kept
        self.sensitiveHeaders = sensitiveHeaders
        self.started = started
    }

    /// The head of a response.
    struct Response: Sendable {
        let status: Int
        /// The server's reason phrase. HTTP/2 and HTTP/3 have none, so there it is Foundation's text for the status.
        let statusText: String
        let headers: [HTTPHeader]
        /// The `Content-Type`. If the response has none, it is empty, and the redaction infers the type from the body.
        let mimeType: String

        init(_ head: ResponseHead) {
            status = head.status
            statusText = head.reason.isEmpty ? HTTPURLResponse.localizedString(forStatusCode: head.status) : head.reason
            headers = Array(head.headers).sorted { $0.name < $1.name }
            mimeType = head.headers.value(for: "Content-Type") ?? ""
        }
    }
}

/// The most recent exchanges that have ended.
private struct FinishedExchanges: Sendable {
    /// A ring buffer once it is full: each new exchange replaces the oldest one.
    private var ring: [HARExchange] = []
    private(set) var dropped = 0

    mutating func append(_ exchange: HARExchange, limit: Int) {
        if ring.count < limit { return ring.append(exchange) }
        if limit > 0 { ring[dropped % limit] = exchange }
        dropped += 1
    }

    /// The exchanges, oldest first.
    var inOrder: [HARExchange] {
        let oldest = ring.isEmpty ? 0 : dropped % ring.count
        return Array(ring[oldest...] + ring[..<oldest])
    }
}
