public import CurlewCore
public import Foundation

/// A transport without a network: closures and canned responses replace servers.
///
///     let transport = MockTransport { request in
///         request.path == "/user" ? .json(User(name: "Ada")) : .status(404)
///     }
///     let session = Session(transport: transport)
///     let user = try await session.request("https://example.org/user").decode(User.self)
///     #expect(transport.requests[0].headers["User-Agent"] != nil)
///
/// A request is answered by the latest route that matches, otherwise by the queue, otherwise by the closure. The
/// transport calls the sink as the engine does: after `.pause` it offers identical bytes again once `resumeReceiving`
/// is called, suspension holds both directions, aborting and cancelling end the exchange, and `maximumBodySize` is
/// enforced. It enforces no timeouts: a test of timeouts needs a `TestServer`.
///
/// - The closure is `async`: when the exchange is cancelled, the closure's task is cancelled too.
/// - The task that calls `perform` makes the sink calls, one at a time, and none after `perform` has returned.
public final class MockTransport: Transport {
    /// Answers one exchange. An error that it throws ends the exchange: a `CurlewError` unchanged, any other error as
    /// `.receiveFailed`.
    public typealias Handler = @Sendable (MockRequest) async throws -> MockResponse

    struct Route: Sendable {
        var method: HTTPMethod?
        var pattern: PathPattern
        var handler: Handler
    }

    struct State: Sendable {
        var routes: [Route] = []
        var queue: [MockResponse] = []
        var requests: [MockRequest] = []
        var started = 0
        var running: [Int: MockExchange] = [:]
        var webSockets: [(pattern: PathPattern, script: TestServer.WebSocketScript)] = []
        /// Tasks that serve the server ends of in-memory connections.
        var peers: [Int: Task<Void, Never>] = [:]
        var isShutDown = false
    }

    private let handler: Handler?
    private let collectsBodies: Bool
    let state = Watched(State())

    /// Creates a transport that answers only from its routes and its queue.
    public init(collectsBodies: Bool = true) {
        handler = nil
        self.collectsBodies = collectsBodies
    }

    /// Creates a transport that calls `handler` if no route matches and the queue is empty.
    public init(collectsBodies: Bool = true, _ handler: @escaping Handler) {
        self.handler = handler
        self.collectsBodies = collectsBodies
    }

    /// Answers requests for a path such as `/user/{id}` or `/files/*`. A `nil` method matches every method.
    public func route(_ pattern: String, method: HTTPMethod? = nil, _ handler: @escaping Handler) {
        state.change { $0.routes.append(Route(method: method, pattern: PathPattern(pattern), handler: handler)) }
    }

    /// Queues responses for requests that match no route: one response for each request, in order.
    public func enqueue(_ responses: MockResponse...) { state.change { $0.queue += responses } }

    /// Every request received, in the order in which their bodies were complete.
    public var requests: [MockRequest] { state.value.requests }

    /// The number of running exchanges and WebSockets.
    public var runningCount: Int {
        let state = state.value
        return state.running.count + state.peers.count
    }

    /// Returns when `count` requests have been received with their bodies; throws if `timeout` passes first.
    @discardableResult
    public func waitForRequests(count: Int, timeout: Duration = .seconds(30)) async throws -> [MockRequest] {
        try await state.wait(
            atMost: timeout,
            orThrow: { TestServer.WaitFailure.timedOut("\($0.requests.count) requests") },
            until: { $0.requests.count >= count }
        )
        return requests
    }

    /// Answers one exchange from the routes, the queue or the closure.
    public func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        let exchange = MockExchange()
        let index = state.change { state -> Int? in
            guard !state.isShutDown else { return nil }
            state.running[state.started] = exchange
            state.started += 1
            return state.started - 1
        }
        guard let index else { throw located(CurlewError(.sessionClosed, phase: .lifecycle), request) }
        defer { state.change { $0.running[index] = nil } }
        let result: Result<TransferOutcome, CurlewError> = await withTaskCancellationHandler {
            do throws(CurlewError) {
                return .success(try await carryOut(request, index, exchange, sink))
            } catch {
                return .failure(located(error, request))
            }
        } onCancel: {
            exchange.cancel(with: CurlewError(.cancelled, phase: .receive))
        }
        return try result.get()
    }

    /// Ends running and later exchanges with `.sessionClosed`.
    public func shutdown() async {
        let (running, peers) = state.change { state in
            state.isShutDown = true
            return (Array(state.running.values), Array(state.peers.values))
        }
        for peer in peers { peer.cancel() }
        for exchange in running { exchange.cancel(with: CurlewError(.sessionClosed, phase: .lifecycle)) }
    }

    /// Returns all guards, because no byte leaves the process.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }

    private func carryOut(
        _ transfer: TransferRequest,
        _ index: Int,
        _ exchange: MockExchange,
        _ sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        var metrics = TransferMetrics(queued: Date(), ended: Date())
        sink.willStart(exchange)
        try await exchange.clearance(.sending)
        var body = Data()
        var trailers: HTTPHeaders = [:]
        if collectsBodies {
            body = try await MockBody(exchange: exchange, sink: sink).collect(transfer.body)
            trailers = try transfer.trailers?.fields() ?? [:]
        }
        metrics.requestSent = Date()
        metrics.bytesSent = Int64(body.count)
        let request = MockRequest(transfer: transfer, body: body, trailers: trailers, index: index)
        state.change { $0.requests.append(request) }
        let response = try await exchange.whileRunning { try await self.respond(to: request) }
        return try await MockDelivery(exchange: exchange, sink: sink, request: transfer, response: response)
            .deliver(metrics)
    }

    func respond(to request: MockRequest) async throws -> MockResponse {
        let routes = state.value.routes.reversed()
        for route in routes where route.method == nil || route.method == request.method {
            guard let parameters = route.pattern.match(request.url.path(percentEncoded: true)) else { continue }
            var request = request
            request.parameters = parameters
            return try await route.handler(request)
        }
        let queued = state.change { $0.queue.isEmpty ? nil : $0.queue.removeFirst() }
        if let queued { return queued }
        if let handler { return try await handler(request) }
        throw CurlewError(.unsupported, phase: .waiting, reason: Self.miss(request, state.value.routes))
    }

    /// Names the request, with its query but without secrets, and the nearest routes.
    private static func miss(_ request: MockRequest, _ routes: [Route]) -> String {
        let path = request.url.path(percentEncoded: true)
        let target =
            path + (request.url.query(percentEncoded: true).map { "?" + CassetteRedaction().form($0[...]) } ?? "")
        let asked = "MockTransport has no answer for \(request.method.rawValue) \(target)"
        guard !routes.isEmpty else { return asked + ": it has no routes, and its queue is empty" }
        // A wrong method is a smaller mistake than a wrong path.
        let nearest = Nearness.nearest(of: routes) { route in
            (route.pattern.match(path) == nil ? 1_000 : 0) + Nearness.distance(route.pattern.text, path)
        }
        let names = nearest.map { "\($0.method?.rawValue ?? "any method") \($0.pattern.text)" }
        return asked + "; nearest routes: " + names.joined(separator: ", ")
    }

    func located(_ error: CurlewError, _ request: TransferRequest) -> CurlewError {
        var error = error
        if error.url == nil { error.url = request.url }
        error.attempt = request.attempt
        return error
    }
}

extension MockTransport {
    /// Opens an in-memory WebSocket for every handshake at a path such as `/feed` or `/rooms/{id}`, and follows the
    /// script. A handshake at any other path is answered like an ordinary request.
    ///
    ///     let transport = MockTransport()
    ///     transport.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.goingAway)]))
    ///     let socket = Session(transport: transport).webSocket("wss://example.org/feed")
    ///
    /// Pauses in the script take real time; with a `Gate`, the test decides when to continue.
    public func webSocket(_ pattern: String, _ script: TestServer.WebSocketScript) {
        state.change { $0.webSockets.append((PathPattern(pattern), script)) }
    }
}

extension MockTransport: PoolingTransport {
    /// No connections: a mock has none.
    public var connections: ConnectionSnapshot { ConnectionSnapshot() }

    /// Does nothing, or throws `.sessionClosed` after `shutdown`.
    public func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        if state.change({ $0.isShutDown }) {
            throw located(CurlewError(.sessionClosed, phase: .lifecycle), request)
        }
    }
}

extension MockTransport: ConnectTransport {
    package func connect(
        _ request: TransferRequest, sendBuffer: Int
    ) async throws(CurlewError) -> any ByteConnection {
        let (up, down) = (MemoryPipe(), MemoryPipe())
        let peer = MockPeer(wire: MemoryWire(incoming: up, outgoing: down))
        let index = state.change { state -> Int? in
            guard !state.isShutDown else { return nil }
            state.started += 1
            return state.started - 1
        }
        guard let index else {
            throw located(CurlewError(.sessionClosed, phase: .lifecycle), request)
        }
        let task = state.change { state in
            // The task is created under the lock, so that it cannot remove itself from `peers` before it is stored
            // there.
            let task = Task {
                await peer.serve { headers throws(CurlewError) in try await self.answer(request, headers, index) }
                self.state.change { $0.peers[index] = nil }
            }
            state.peers[index] = task
            if state.isShutDown { task.cancel() }
            return task
        }
        return MemoryWire(incoming: down, outgoing: up) { task.cancel() }
    }

    private func answer(
        _ request: TransferRequest, _ headers: HTTPHeaders, _ index: Int
    ) async throws(CurlewError) -> MockPeer.Answer {
        var seen = request
        seen.headers = headers
        let asked = MockRequest(transfer: seen, body: Data(), index: index)
        let script = state.change { state in
            state.requests.append(asked)
            let path = request.url.path(percentEncoded: true)
            return state.webSockets.last { $0.pattern.match(path) != nil }?.script
        }
        if let script { return .webSocket(script) }
        do {
            return .response(try await respond(to: asked))
        } catch {
            if let error = error as? CurlewError { throw error }
            throw CurlewError(.receiveFailed, phase: .waiting, reason: "the mock's closure threw", underlying: error)
        }
    }
}

/// One request that a `MockTransport` received.
public struct MockRequest: Sendable {
    /// The request as the session passed it to the transport.
    public let transfer: TransferRequest
    /// The whole body; empty if there is none or the transport does not collect bodies.
    public let body: Data
    /// The trailer fields that would have followed the body.
    public internal(set) var trailers: HTTPHeaders = [:]
    /// The number of the exchange in its transport, from 0.
    public let index: Int
    /// The values of the placeholders in the route's pattern.
    public internal(set) var parameters: [String: String] = [:]

    /// The request's URL.
    public var url: URL { transfer.url }
    /// The HTTP method.
    public var method: HTTPMethod { transfer.method }
    /// The fields that would have been sent: the session's, overlaid with the request's.
    public var headers: HTTPHeaders { transfer.effectiveHeaders }
    /// The URL's path, percent-decoded.
    public var path: String { url.path(percentEncoded: false) }
    /// The body as text; `nil` if it is not UTF-8.
    public var bodyText: String? { String(data: body, encoding: .utf8) }

    /// Returns the first query value with that name; `nil` if there is none.
    public func queryValue(_ name: String) -> String? {
        URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?.first { $0.name == name }?.value
    }

    /// Decodes the body as JSON.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try JSONDecoder().decode(type, from: body)
    }
}

/// Finds texts that resemble another one, for errors that suggest what a test may have meant.
enum Nearness {
    /// Longer texts are compared by their first bytes only, because the distance takes quadratic time.
    private static let longest = 200

    /// Returns the `most` nearest candidates, nearest first; ties keep the order of `candidates`.
    static func nearest<Candidate>(
        _ most: Int = 3, of candidates: some Sequence<Candidate>, by distance: (Candidate) -> Int
    ) -> [Candidate] {
        let ranked = candidates.enumerated().map { (distance: distance($1), index: $0, candidate: $1) }
        return ranked.sorted { ($0.distance, $0.index) < ($1.distance, $1.index) }.prefix(most).map(\.candidate)
    }

    /// The number of bytes to insert, delete or replace to turn one text into the other.
    static func distance(_ one: some StringProtocol, _ other: some StringProtocol) -> Int {
        let (rows, columns) = (Array(one.utf8.prefix(longest)), Array(other.utf8.prefix(longest)))
        var above = Array(0...columns.count)
        for (row, byte) in rows.enumerated() {
            var line = [row + 1]
            for (column, second) in columns.enumerated() {
                line.append(min(above[column + 1] + 1, line[column] + 1, above[column] + (byte == second ? 0 : 1)))
            }
            above = line
        }
        return above[columns.count]
    }
}
