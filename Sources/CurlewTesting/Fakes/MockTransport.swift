public import CurlewCore
internal import Foundation

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
        if collectsBodies { body = try await MockBody(exchange: exchange, sink: sink).collect(transfer.body) }
        metrics.requestSent = Date()
        metrics.bytesSent = Int64(body.count)
        let request = MockRequest(transfer: transfer, body: body, index: index)
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
