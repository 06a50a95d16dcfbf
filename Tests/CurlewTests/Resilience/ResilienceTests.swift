import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("Resilience", .timeLimit(.minutes(4)))
struct ResilienceTests {
    private static let url = "https://api.example.org/x"
    private static let origin = "https://api.example.org"

    private func session(
        _ transport: MockTransport,
        _ resilience: Resilience,
        interceptor: (any RequestInterceptor)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.resilience = resilience
        change(&configuration)
        return Session(configuration: configuration, transport: transport, interceptor: interceptor)
    }

    /// A transport that responds to requests for a path when the gate is open, and to others at once.
    private func holding(_ path: String, _ gate: Gate) -> MockTransport {
        MockTransport { request in
            if request.path == path { try await gate.wait() }
            return .text("fine")
        }
    }

    private struct Unexpected: Error {}

    @Test("a session has no resilience by default")
    func off() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = Session(transport: transport)
        #expect(session.context.resilience == nil)
        let request = session.request(Self.url)
        _ = try await request.data()
        #expect(request.attempts[0].admission == nil)
        #expect(await session.resilience.snapshot() == ResilienceSnapshot())
    }

    @Test("the standard parts have the numbers of the documentation")
    func standard() throws {
        let standard = Resilience.standard
        let rate = try #require(standard.rateLimit)
        #expect(rate.parts.isEmpty && rate.followsServer && rate.scope.isOrigin)
        let concurrency = try #require(standard.concurrency)
        #expect(concurrency.kind == .adaptive(initial: 20, floor: 4, ceiling: 200) && concurrency.scope.isOrigin)
        let breaker = try #require(standard.breaker)
        #expect(breaker.failureRate == 0.5 && breaker.window == .count(100) && breaker.minimumCalls == 20)
        #expect(breaker.openFor == .seconds(10) && breaker.probes == 1 && breaker.scope.isOrigin)
        #expect(breaker.slowAfter == nil)
        let budget = try #require(standard.retryBudget)
        #expect(budget.ratio == 1 / 5 && budget.minimumPerSecond == 1 && budget.capacity == 20)
        #expect(standard.hedging == nil && standard.deadlineField == nil)
        #expect(standard.waits && standard.maximumWaiting == 10_000)
        // The ways that the page names for the other parts.
        #expect(Hedging.percentile(0.95).delay == .percentile(0.95, atLeast: .milliseconds(10)))
        #expect(Hedging.after(.zero).maximumShare == 0.1 && Hedging.fewestSamples == 20 && LatencySample.size == 128)
        #expect(Hedging.largestBody == 64 * 1024 && ServerAdvice.maximumReset == .seconds(3_600))
        let ejection = EndpointGroup.Ejection()
        #expect(ejection.consecutiveFailures == 5 && ejection.failureRate == 0.5 && ejection.maximumShare == 0.5)
        #expect(ejection.time == .seconds(10) && ejection.longestTime == .seconds(300))
    }

    @Test("a wall clock that jumps during an exchange makes its latency neither negative nor longer than it took")
    func wallClockJumps() async throws {
        for jump in [-3_600.0, 3_600] {
            let seen = Lock<[Duration]>([])
            let transport = MockTransport { _ in
                let began = Date()
                var metrics = TransferMetrics(queued: began, ended: began.addingTimeInterval(jump))
                metrics.firstByte = began.addingTimeInterval(jump)
                return MockResponse.text("fine").changed { $0.metrics = metrics }
            }
            let breaker = CircuitBreaker { outcome in
                seen.withLock { $0.append(outcome.latency) }
                return false
            }
            let session = session(transport, Resilience(concurrency: .adaptive(), breaker: breaker))
            let start = ContinuousClock.now
            _ = try await session.request(Self.url).data()
            let took = ContinuousClock.now - start
            let latencies = seen.withLock { $0 }
            #expect(latencies.count == 1 && latencies.allSatisfy { $0 >= .zero && $0 <= took })
        }
    }

    // MARK: Waiting

    @Test("waiting requests are sent by priority, then by arrival")
    func priorities() async throws {
        let gate = Gate()
        let transport = holding("/first", gate)
        let session = session(transport, Resilience(concurrency: .fixed(1)))
        async let first = session.request("\(Self.origin)/first").data()
        try await gate.waitForArrivals(count: 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let inOrder: [(String, RequestPriority)] = [
                ("/low", .low), ("/normal", .normal), ("/high1", .high), ("/high2", .high),
                ("/background", .background),
            ]
            for (index, (path, priority)) in inOrder.enumerated() {
                group.addTask { _ = try await session.request(Self.origin + path).priority(priority).data() }
                try await eventually { session.context.resilience?.snapshot().waiting == index + 1 }
            }
            gate.open()
            try await group.waitForAll()
        }
        _ = try await first
        let paths = transport.requests.map(\.path)
        #expect(paths == ["/first", "/high1", "/high2", "/normal", "/low", "/background"])
        let snapshot = await session.resilience.snapshot()
        #expect(snapshot.counts.admitted == 6 && snapshot.counts.waited == 5 && snapshot.waiting == 0)
        #expect(snapshot.concurrency[Self.origin] == .init(inFlight: 0, limit: 1))
    }

    @Test("the attempts of a request that was cancelled while it waited list its URLRequest, and no exchange")
    func cancelledWait() async throws {
        let gate = Gate()
        let transport = holding("/first", gate)
        let session = session(transport, Resilience(concurrency: .fixed(1)))
        async let first = session.request("\(Self.origin)/first").data()
        try await gate.waitForArrivals(count: 1)
        let waiting = session.request(Self.url)
        async let response = waiting.response()
        try await eventually { session.context.resilience?.snapshot().waiting == 1 }
        waiting.cancel()
        #expect(await response.error?.code == .cancelled)
        #expect(waiting.attempts.map { $0.requests.map { $0.url?.path } } == [["/x"]])
        #expect(waiting.attempts.allSatisfy { $0.tasks.isEmpty })
        gate.open()
        _ = try await first
    }

    @Test(
        "requests with the same scope key share a limit, and other keys have limits of their own",
        arguments: [true, false])
    func scopes(isShared: Bool) async throws {
        let gate = Gate()
        let transport = holding("/held", gate)
        let scope: ResilienceScope = isShared ? .key { _ in "all" } : .key { $0.headers["X-Tenant"] ?? "none" }
        let session = session(transport, Resilience(concurrency: .fixed(1, per: scope))) { $0.timeouts.queue = .zero }
        async let held = session.request("https://a.example/held", headers: ["X-Tenant": "a"]).data()
        try await gate.waitForArrivals(count: 1)
        let other = await session.request("https://a.example/y", headers: ["X-Tenant": "b"]).response()
        #expect(other.error?.code == (isShared ? .limited : nil))
        gate.open()
        _ = try await held
    }

    @Test("a request that cannot be sent in time fails at once, and was not sent")
    func limited() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport, Resilience(rateLimit: .requests(1, per: .seconds(3_600))))
        _ = try await session.request(Self.url).data()
        let request = session.request(Self.url)
        let error = try await requireFailure { try await request.data() }
        #expect(error.code == .limited && error.phase == .queue && error.isSafeToRetry && !error.isTimeout)
        #expect(error.url?.absoluteString == Self.url)
        let retryAfter = try #require(error.retryAfter)
        #expect(retryAfter > .seconds(3_000) && retryAfter <= .seconds(3_600))
        #expect(transport.requests.count == 1)
        let attempt = try #require(request.attempts.first)
        #expect(attempt.admission?.decision == .rateLimited && attempt.tasks.isEmpty && attempt.error?.code == .limited)
        #expect(error.reason == attempt.admission?.description)
        #expect(await session.resilience.snapshot().pauses[Self.origin] != nil)
    }

    @Test("the queue timeout and the total timeout end a wait in the queue", arguments: [true, false])
    func timeouts(isTotal: Bool) async throws {
        let gate = Gate()
        let transport = holding("/held", gate)
        let session = session(transport, Resilience(concurrency: .fixed(1)))
        async let held = session.request("\(Self.origin)/held").data()
        try await gate.waitForArrivals(count: 1)
        let request = session.request(Self.url).timeouts {
            if isTotal { $0.total = .milliseconds(20) } else { $0.queue = .milliseconds(20) }
        }
        let error = try await requireFailure { try await request.data() }
        #expect(error.code == (isTotal ? .totalTimedOut : .queueTimedOut) && error.phase == .queue)
        #expect(await session.resilience.snapshot().waiting == 0)
        gate.open()
        _ = try await held
        _ = try await session.request(Self.url).data()
    }

    @Test("a session that does not wait fails the request, and a full queue sheds its least important request")
    func refusals() async throws {
        let gate = Gate()
        let transport = holding("/held", gate)
        var resilience = Resilience(concurrency: .fixed(1))
        resilience.maximumWaiting = 1
        let waiting = session(transport, resilience)
        resilience.waits = false
        let impatient = session(transport, resilience)
        async let held = waiting.request("\(Self.origin)/held").data()
        async let alsoHeld = impatient.request("\(Self.origin)/held").data()
        try await gate.waitForArrivals(count: 2)
        let full = try await requireFailure { try await impatient.request(Self.url).data() }
        #expect(full.code == .limited && full.retryAfter == nil)
        let low = waiting.request(Self.url).priority(.low)
        async let shed = requireFailure { try await low.data() }
        try await eventually { waiting.context.resilience?.snapshot().waiting == 1 }
        async let high = waiting.request(Self.url).priority(.high).data()
        #expect(try await shed.code == .limited)
        #expect(low.attempts.first?.admission?.decision == .shed)
        gate.open()
        _ = try await (held, alsoHeld, high)
        #expect(await waiting.resilience.snapshot().counts.shed == 1)
    }

    @Test("a suspended request does not count for the concurrency limit before it is resumed")
    func suspended() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport, Resilience(concurrency: .fixed(1)))
        let suspended = session.request("\(Self.origin)/later")
        suspended.runUntilSent()
        _ = try await session.request(Self.url).timeouts { $0.queue = .zero }.data()
        #expect(transport.requests.map(\.path) == ["/x"])
        _ = try await suspended.data()
        #expect(transport.requests.map(\.path) == ["/x", "/later"])
    }

    // MARK: The circuit

    @Test("failures open the circuit, and no retry is sent into an open circuit")
    func circuit() async throws {
        let transport = MockTransport { _ in .status(503) }
        let breaker = CircuitBreaker(window: .count(2), minimumCalls: 2, openFor: .seconds(3_600))
        let session = session(transport, Resilience(breaker: breaker), interceptor: Stubborn())
        let first = try await requireFailure { try await session.request(Self.url).data() }
        // The second attempt opened the circuit, so there is no third, and the request ends with its response.
        #expect(first.code == .unacceptableStatus && transport.requests.count == 2)
        let request = session.request(Self.url).retry(using: RetryPolicy(exponentialBackoffScale: 0))
        let error = try await requireFailure { try await request.data() }
        #expect(error.code == .circuitOpen && error.isSafeToRetry && error.retryAfter ?? .zero > .seconds(3_000))
        #expect(request.attempts.count == 1 && transport.requests.count == 2)
        #expect(request.attempts[0].admission?.decision == .circuitOpen)
        _ = try await requireFailure { try await session.request("https://other.example/").data() }
        #expect(transport.requests.count > 2, "another origin has a circuit of its own")
        let circuit = await session.resilience.snapshot().circuits[Self.origin]
        guard case .open(let remaining)? = circuit?.state else { throw Unexpected() }
        #expect(remaining > .seconds(3_000))
    }

    /// Retries everything, at once.
    private struct Stubborn: RequestInterceptor {
        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult { .retry }
    }

    @Test("the retry policy does not retry a rate limit's refusal after an attempt with a retryable status")
    func policy() async throws {
        let transport = MockTransport { _ in .status(503) }
        let limit = RateLimit.requests(1, per: .seconds(3_600))
        let session = session(
            transport, Resilience(rateLimit: limit), interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = session.request(Self.url)
        let error = try await requireFailure { try await request.data() }
        #expect(error.code == .limited && transport.requests.count == 1 && request.attempts.count == 2)
    }

    @Test("a probe that succeeds closes the circuit")
    func recovers() async throws {
        let isUp = Lock(false)
        let transport = MockTransport { _ in isUp.withLock { $0 } ? .text("fine") : .status(500) }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .zero)
        let session = session(transport, Resilience(breaker: breaker))
        for _ in 0..<3 { _ = try await requireFailure { try await session.request(Self.url).data() } }
        #expect(transport.requests.count == 3)
        isUp.withLock { $0 = true }
        _ = try await session.request(Self.url).data()
        #expect(await session.resilience.snapshot().circuits[Self.origin]?.state == .closed)
    }

    @Test("failures of other servers, cancellations and decoding failures do not count against a server")
    func uncounted() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            switch request.path {
            case "/away": return .redirect(to: "https://b.example/broken")
            case "/broken": return .status(500)
            case "/held":
                try await gate.wait()
                return .text("late")
            default: return .text("fine")
            }
        }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1)
        let session = session(transport, Resilience(breaker: breaker))
        // The failure is another server's.
        _ = try await requireFailure { try await session.request("https://a.example/away").data() }
        let cancelled = session.request("https://a.example/held")
        async let error = requireFailure { try await cancelled.data() }
        try await gate.waitForArrivals(count: 1)
        cancelled.cancel()
        #expect(try await error.code == .cancelled)
        _ = try await requireFailure { try await session.request("https://a.example/fine").decode(Int.self) }
        let circuit = await session.resilience.snapshot().circuits["https://a.example"]
        #expect(circuit?.failures == 0 && circuit?.calls == 1)
    }

    @Test("a redirect to another server closes the circuit of the server that sent it")
    func redirectsClose() async throws {
        let isDown = Lock(true)
        let transport = MockTransport { request in
            if request.url.host() == "b.example" { return .text("there") }
            return isDown.withLock { $0 } ? .status(500) : .redirect(to: "https://b.example/")
        }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .zero)
        let session = session(transport, Resilience(breaker: breaker))
        _ = try await requireFailure { try await session.request("https://a.example/").data() }
        isDown.withLock { $0 = false }
        #expect(try await session.request("https://a.example/").string() == "there")
        #expect(await session.resilience.snapshot().circuits["https://a.example"]?.state == .closed)
    }

    @Test("a request that is suspended while it waits lets other requests pass")
    func suspendedWhileWaiting() async throws {
        let gate = Gate()
        let transport = holding("/first", gate)
        let session = session(transport, Resilience(concurrency: .fixed(1)))
        async let first = session.request("\(Self.origin)/first").data()
        try await gate.waitForArrivals(count: 1)
        let waiting = session.request("\(Self.origin)/waiting")
        async let late = waiting.string()
        try await eventually { session.context.resilience?.snapshot().waiting == 1 }
        waiting.suspend()
        gate.open()
        _ = try await first
        #expect(try await session.request("\(Self.origin)/other").string() == "fine")
        #expect(transport.requests.map(\.path) == ["/first", "/other"])
        waiting.resume()
        #expect(try await late == "fine")
    }

    // MARK: Retry-After and retry budgets

    @Test("after a Retry-After of an hour, later requests fail at once and are not sent")
    func retryAfter() async throws {
        let transport = MockTransport { _ in .status(429, headers: ["Retry-After": "3600"]) }
        let session = session(transport, .standard, interceptor: .retryPolicy)
        let first = session.request(Self.url).timeouts { $0.total = .seconds(5) }
        _ = try await requireFailure { try await first.data() }
        let sent = transport.requests.count
        let error = try await requireFailure { try await session.request(Self.url).data() }
        #expect(error.code == .limited && error.retryAfter ?? .zero > .seconds(3_000))
        #expect(transport.requests.count == sent)
    }

    @Test("a retry budget limits a retrier that retries every failure")
    func budget() async throws {
        let transport = MockTransport { _ in .status(500) }
        let budget = RetryBudget(ratio: 0, minimumPerSecond: 0, capacity: 3)
        let session = session(transport, Resilience(retryBudget: budget), interceptor: Stubborn())
        for _ in 0..<4 { _ = try await requireFailure { try await session.request(Self.url).data() } }
        #expect(transport.requests.count == 4 + 3)
    }

    // MARK: Fields

    @Test("an idempotency key is the same in all attempts, and lets a POST be retried")
    func idempotencyKey() async throws {
        let transport = MockTransport { $0.index % 3 == 2 ? .text("fine") : .status(503) }
        let policy = RetryPolicy(exponentialBackoffScale: 0)
        let session = Session(transport: transport, interceptor: policy)
        _ = try await session.request(Self.url, method: .post).idempotencyKey().data()
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 3 && Set(keys).count == 1 && keys[0].flatMap { UUID(uuidString: $0) } != nil)
        let plain = try await requireFailure { try await session.request(Self.url, method: .post).data() }
        #expect(plain.code == .unacceptableStatus && transport.requests.count == 4)
        let own = session.request(Self.url, headers: ["Idempotency-Key": "mine"]).idempotencyKey("other")
        _ = await own.response()
        #expect(transport.requests.last?.headers["Idempotency-Key"] == "mine")
        for key in ["", "a\r\nX: y"] {
            let sent = transport.requests.count
            let error = try await requireFailure { try await session.request(Self.url).idempotencyKey(key).data() }
            #expect(error.code == .invalidHeader && transport.requests.count == sent)
        }
    }

    @Test("the priority is sent as the field of RFC 9218")
    func priorityField() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = Session(transport: transport)
        for priority in [RequestPriority.critical, .high, .normal, .low, .background, RequestPriority(urgency: 99)] {
            _ = try await session.request(Self.url).priority(priority).data()
        }
        _ = try await session.request(Self.url, headers: ["Priority": "u=2, i"]).priority(.low).data()
        let sent = transport.requests.map { $0.headers["Priority"] }
        #expect(sent == ["u=0", "u=1", nil, "u=5", "u=7", "u=7", "u=2, i"])
        // The transport orders requests by it.
        #expect(transport.requests.map(\.transfer.options.priority.urgency) == [0, 1, 3, 5, 7, 7, 5])
        #expect(RequestPriority.high > .normal && RequestPriority.background < .low)
    }

    // MARK: The cache, WebSockets and streams

    @Test("stored responses do not count for the circuit, and onlyStored requests pass an open circuit")
    func cache() async throws {
        let transport = MockTransport { request in
            var response = MockResponse.text("fine")
            response.headers["Cache-Control"] = "max-age=3600"
            return request.path == "/x" ? response : .status(500)
        }
        let breaker = CircuitBreaker(window: .count(9), minimumCalls: 2, openFor: .seconds(3_600))
        let session = session(transport, Resilience(breaker: breaker)) { $0.cache = ResponseCache() }
        for _ in 0..<3 { _ = try await session.request(Self.url).data() }
        #expect(await session.resilience.snapshot().circuits[Self.origin]?.calls == 1)
        _ = try await requireFailure { try await session.request("\(Self.origin)/broken").data() }
        #expect(try await requireFailure { try await session.request(Self.url).data() }.code == .circuitOpen)
        _ = try await session.request(Self.url).cachePolicy(.onlyStored).data()
    }

    @Test("a WebSocket does not count for the concurrency limit, and a stream counts until it ends")
    func connections() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.path == "/stream" { try await gate.wait() }
            return .text("fine")
        }
        transport.webSocket("/socket", TestServer.WebSocketScript([.send(.text("one"))]))
        let session = session(transport, Resilience(concurrency: .fixed(1))) { $0.timeouts.queue = .zero }
        let socket = session.webSocket("wss://api.example.org/socket")
        _ = try await socket.opened()
        _ = try await session.request(Self.url).data()
        async let text = session.streamRequest("\(Self.origin)/stream").chunks.reduce(into: Data()) { $0 += $1 }
        try await gate.waitForArrivals(count: 1)
        #expect(try await requireFailure { try await session.request(Self.url).data() }.code == .limited)
        gate.open()
        #expect(try await text == Data("fine".utf8))
        try await eventually { session.context.resilience?.snapshot().concurrency[Self.origin]?.inFlight == 0 }
        socket.cancel()
    }
}
