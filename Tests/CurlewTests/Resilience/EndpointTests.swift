import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("Endpoint groups", .timeLimit(.minutes(4)))
struct EndpointTests {
    private static let canPrewarm = ConditionalFeature.prewarming.isPossible(.current)
    private static let policy = RetryPolicy(exponentialBackoffScale: 0)
    private static let three: [EndpointGroup.Endpoint] = [
        "https://a.test/v1", "https://b.test/v1", "https://c.test/v1",
    ]
    /// No server listens at this endpoint.
    private static let dead: EndpointGroup.Endpoint = "http://127.0.0.1:1/v1"
    /// Ejects an endpoint after its first failure, for so long that no test sees its return.
    private static let strict = EndpointGroup.Ejection(
        consecutiveFailures: 1, time: .seconds(3_600), longestTime: .seconds(3_600))

    private func session(
        _ transport: MockTransport? = nil, _ group: EndpointGroup,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.endpoints = group
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }

    /// Servers that answer `/v1/name` with their number.
    private func servers(_ count: Int) throws -> [TestServer] {
        try (0..<count).map { number in
            let server = try TestServer()
            server.route("/v1/name") { _ in .text("\(number)") }
            return server
        }
    }

    private func endpoint(_ server: TestServer) -> EndpointGroup.Endpoint { EndpointGroup.Endpoint(server.url("/v1")) }

    // MARK: Over the wire

    @Test("all endpoints get requests in turn")
    func roundRobin() async throws {
        let servers = try servers(3)
        let session = session(nil, EndpointGroup(servers.map(endpoint)))
        var names: [String] = []
        for _ in 0..<6 { names.append(try await session.request("name").string()) }
        #expect(names == ["0", "1", "2", "0", "1", "2"])
        #expect(await session.resilience.snapshot().endpoints.map(\.outstanding) == [0, 0, 0])
    }

    @Test("endpoints are resolved by the session's resolver, and one that it does not know is ejected")
    func resolver() async throws {
        let servers = try servers(2)
        let asked = Lock<[String]>([])
        let group = EndpointGroup(
            (["a", "b"].enumerated().map { .init("http://\($1).service:\(servers[$0].port)/v1") })
                + ["http://unknown.service:1/v1"], ejection: Self.strict)
        let session = session(nil, group) {
            $0.proxy = .none
            // A server that a busy machine keeps waiting would be ejected.
            ($0.timeouts.connect, $0.timeouts.queue, $0.timeouts.firstByte) = (nil, nil, nil)
            $0.dns.resolver = { host, port in
                asked.withLock { $0.append("\(host):\(port)") }
                guard !host.hasPrefix("unknown") else { throw URLError(.cannotFindHost) }
                return DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .seconds(600))
            }
        }
        var names: [String] = []
        for _ in 0..<6 { names.append(try await session.request("name").retry(using: Self.policy).string()) }
        // Each is asked for once: answers are stored, and an endpoint that is ejected gets no request.
        let expected = ["a.service:\(servers[0].port)", "b.service:\(servers[1].port)", "unknown.service:1"]
        #expect(asked.withLock { $0 } == expected)
        #expect(names.count { $0 == "0" } >= 2 && names.count { $0 == "1" } >= 2 && names.count == 6)
        let endpoints = await session.resilience.snapshot().endpoints
        #expect(endpoints.map { $0.ejectedFor != nil } == [false, false, true])
        #expect(servers.allSatisfy { $0.requests.allSatisfy { $0.headers["Host"]?.contains(".service:") == true } })
    }

    @Test("the second copy of a hedged request goes to the endpoint of the first one")
    func hedged() async throws {
        let never = Gate()
        let transport = MockTransport { request in
            if request.index.isMultiple(of: 2) { try await never.wait() }
            return .text("fine")
        }
        let session = session(transport, EndpointGroup(Self.three)) {
            $0.resilience.hedging = .after(.zero)
            $0.resilience.hedging?.maximumShare = 1
        }
        for _ in 0..<3 { _ = try await session.request("name").data() }
        let hosts = transport.requests.map { $0.url.host() ?? "" }
        #expect(hosts == ["a.test", "a.test", "b.test", "b.test", "c.test", "c.test"])
    }

    @Test("an endpoint that is down is ejected, and used again when it is up")
    func returns() async throws {
        let servers = try servers(2)
        servers[0].scriptEveryConnection(.text("").faulting(.reset, at: .beforeReading))
        let rule = EndpointGroup.Ejection(
            consecutiveFailures: 2, time: .milliseconds(1), longestTime: .milliseconds(20))
        let session = session(nil, EndpointGroup(servers.map(endpoint), strategy: .failover, ejection: rule))
        for _ in 0..<10 { #expect(try await session.request("name").retry(using: Self.policy).string() == "1") }
        #expect(await session.resilience.snapshot().endpoints[0].ejectedFor != nil)
        servers[0].scriptEveryConnection()
        let deadline = ContinuousClock.now + .seconds(40).asTestBound
        while try await session.request("name").retry(using: Self.policy).string() != "0" {
            try #require(ContinuousClock.now < deadline)
        }
        #expect(await session.resilience.snapshot().endpoints[0].ejectedFor == nil)
    }

    @Test(
        "an ejected endpoint gets no requests, whether it is unreachable or answers with errors",
        arguments: [true, false])
    func ejected(isDown: Bool) async throws {
        let servers = try servers(2)
        servers[0].route("/v1/name") { _ in .text("broken", status: 500) }
        let first = isDown ? Self.dead : endpoint(servers[0])
        let session = session(nil, EndpointGroup([first, endpoint(servers[1])], ejection: Self.strict))
        var attempts: [Int] = []
        for _ in 0..<8 {
            let request = session.request("name").retry(using: Self.policy)
            #expect(try await request.string() == "1")
            attempts.append(request.attempts.count)
        }
        #expect(attempts == [2, 1, 1, 1, 1, 1, 1, 1])
        #expect(servers.map(\.requestCount) == [isDown ? 0 : 1, 8])
        let snapshot = await session.resilience.snapshot().endpoints
        #expect(snapshot[0].ejectedFor ?? .zero > .seconds(3_000) && snapshot[1].ejectedFor == nil)
        #expect(snapshot[1].url == servers[1].url("/v1/"))
    }

    @Test("a group of unreachable endpoints fails with connectFailed, even while endpoints are ejected")
    func allDead() async throws {
        let dead: [EndpointGroup.Endpoint] = [
            "http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "http://127.0.0.1:1/c",
        ]
        let session = session(nil, EndpointGroup(dead, strategy: .leastOutstanding))
        // Ten rounds are more than an ejection needs, so later requests find ejected endpoints.
        for _ in 0..<10 {
            let request = session.request("name").retry(using: Self.policy)
            let error = await request.response().error
            #expect(error?.code == .connectFailed && request.attempts.count == 3)
        }
        #expect(await session.resilience.snapshot().endpoints.count { $0.ejectedFor != nil } == 2)
    }

    @Test(
        "requests of every kind use the endpoints; those with the scheme ws serve WebSockets only",
        arguments: ["http", "ws"])
    func kinds(scheme: String) async throws {
        let server = try TestServer()
        server.webSocket("/v1/echo", .echo)
        server.route("/v1/u") { .text($0.method) }
        var base = try #require(URLComponents(url: server.url("/v1"), resolvingAgainstBaseURL: false))
        base.scheme = scheme
        let url = try #require(base.url)
        let session = session(nil, EndpointGroup([EndpointGroup.Endpoint(url)]))
        let socket = session.webSocket("echo")
        #expect(try await socket.opened().status == 101)
        #expect(await session.resilience.snapshot().endpoints[0].outstanding == 1, "it counts while it is open")
        try await socket.close()
        if scheme == "http" {
            #expect(try await session.request("u", parameters: ["a": 1]).string() == "GET")
            #expect(try await session.upload(Data("x".utf8), to: "u").string() == "POST")
            #expect(try await session.download("u").string() == "GET")
            var text = ""
            for try await line in session.streamRequest("u").lines { text += line }
            #expect(text == "GET")
        } else {
            #expect(await session.request("u").response().error?.code == .invalidURL)
        }
        await session.drain()
        #expect(await session.resilience.snapshot().endpoints[0].outstanding == 0)
    }

    @Test(
        "prewarming connects to every reachable endpoint, and throws the error of an unreachable one",
        .enabled(if: canPrewarm))
    func prewarm() async throws {
        let servers = try servers(2)
        let session = session(nil, EndpointGroup([endpoint(servers[0]), Self.dead, endpoint(servers[1])]))
        let error = await #expect(throws: CurlewError.self) { try await session.prewarm("name") }
        #expect(error?.code == .connectFailed)
        #expect(await session.connections.totals.open == 2)
    }

    // MARK: Retries and outcomes

    @Test("a retry avoids the endpoints that have failed the request, as long as there are others")
    func retries() async throws {
        let transport = MockTransport { _ in .status(503) }
        let session = session(transport, EndpointGroup(Self.three, strategy: .failover, ejection: nil))
        let request = session.request("x").retry(using: RetryPolicy(retryLimit: 3, exponentialBackoffScale: 0))
        _ = await request.response()
        #expect(transport.requests.map { $0.url.host() } == ["a.test", "b.test", "c.test", "a.test"])
        #expect(request.attempts.map { $0.requests.last?.url?.host() } == ["a.test", "b.test", "c.test", "a.test"])
    }

    @Test("a retry after a 408 may use the same endpoint")
    func otherRetries() async throws {
        let transport = MockTransport { $0.index == 0 ? .status(408) : .text("fine") }
        let session = session(transport, EndpointGroup(Self.three, strategy: .failover, ejection: Self.strict))
        _ = try await session.request("x").retry(using: Self.policy).data()
        #expect(transport.requests.map { $0.url.host() } == ["a.test", "a.test"])
        #expect(await session.resilience.snapshot().endpoints.allSatisfy { $0.ejectedFor == nil })
    }

    @Test("an open circuit of one endpoint does not stop a retry at another")
    func circuits() async throws {
        let transport = MockTransport { $0.url.host() == "a.test" ? .status(500) : .text("fine") }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let session = session(transport, EndpointGroup(Self.three, strategy: .failover, ejection: nil)) {
            $0.resilience.breaker = breaker
        }
        #expect(try await session.request("x").retry(using: Self.policy).string() == "fine")
        #expect(transport.requests.map { $0.url.host() } == ["a.test", "b.test"])
        let circuits = await session.resilience.snapshot().circuits
        #expect(circuits["https://b.test"]?.state == .closed && circuits["https://a.test"]?.state != .closed)
    }

    @Test("a redirect is relative to the endpoint that sent it, and failures of another server do not eject it")
    func redirects() async throws {
        let transport = MockTransport { request in
            switch request.path {
            case "/v1/near": .redirect(to: "there")
            case "/v1/away": .redirect(to: "https://other.test/broken")
            case "/v1/there": .text(request.url.host() ?? "")
            default: .status(500)
            }
        }
        let session = session(transport, EndpointGroup(Self.three, ejection: Self.strict))
        #expect(try await session.request("near").string() == "a.test")
        #expect(try await session.request("near").string() == "b.test")
        #expect(await session.request("away").response().response?.statusCode == 500)
        #expect(await session.resilience.snapshot().endpoints.allSatisfy { $0.ejectedFor == nil })
    }

    @Test("cancellations, expired timeouts, failed adapters and other servers' failures eject no endpoint")
    func uncounted() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            switch request.path {
            case "/held":
                try await gate.wait()
                return .text("late")
            case "/stored":
                var response = MockResponse.text("fine")
                response.headers["Cache-Control"] = "max-age=3600"
                return response
            default: return .status(500)
            }
        }
        let group = EndpointGroup(["https://a.test", "https://b.test"], strategy: .failover, ejection: Self.strict)
        let session = session(transport, group) { $0.cache = ResponseCache() }
        let cancelled = session.request("held")
        async let error = cancelled.response().error
        try await gate.waitForArrivals(count: 1)
        #expect(await session.resilience.snapshot().endpoints.map(\.outstanding) == [1, 0])
        cancelled.cancel()
        #expect(await error?.code == .cancelled)
        // The adapter sends this request to another server.
        let elsewhere = session.request("broken").adapt(
            using: Adapter { request, _ in
                var request = request
                request.url = URL(string: "https://other.test/broken")
                return request
            })
        #expect(await elsewhere.response().response?.statusCode == 500)
        struct Refused: Error {}
        let refused = session.request("x").adapt(using: Adapter { _, _ in throw Refused() })
        #expect(await refused.response().error?.code == .adaptationFailed)
        for _ in 0..<2 { _ = try await session.request("stored").data() }
        let late = session.request("broken").timeouts { $0.total = .zero }
        #expect(await late.response().error?.code == .totalTimedOut)
        let before = await session.resilience.snapshot().endpoints
        #expect(before.allSatisfy { $0.ejectedFor == nil && $0.outstanding == 0 })
        _ = await session.request("broken").response()
        #expect(await session.resilience.snapshot().endpoints[0].ejectedFor != nil)
    }

    @Test("requests that are cancelled at any moment do not stay counted at endpoints", arguments: [true, false])
    func cancellations(hasHandler: Bool) async throws {
        let transport = MockTransport { request in
            await Task.yield()
            return request.index.isMultiple(of: 3) ? .status(500) : .text("fine")
        }
        let rule = EndpointGroup.Ejection(time: .milliseconds(1))
        let group = EndpointGroup(Self.three, strategy: .leastOutstanding, ejection: rule)
        let session = session(transport, group) { if hasHandler { $0.resilience.concurrency = .fixed(2) } }
        await cancelAtRandom(32, hasHandler: hasHandler) { session.request("x").retry(using: Self.policy) }
        await session.drain()
        #expect(!transport.requests.isEmpty)
        #expect(await session.resilience.snapshot().endpoints.map(\.outstanding) == [0, 0, 0])
    }

    // MARK: The configuration

    @Test("an unusable group of endpoints fails relative URLs with invalidURL, and absolute URLs still work")
    func unusable() async throws {
        let groups: [[EndpointGroup.Endpoint]] = [
            [], ["https://a.test", "http://b.test"], ["wss://a.test", "http://b.test"], ["https://a.test", ""],
            ["ftp://a.test"], ["a.test"], ["https://"],
        ]
        for endpoints in groups {
            let transport = MockTransport { _ in .text("fine") }
            let session = session(transport, EndpointGroup(endpoints)) { $0.baseURL = URL(string: "https://base.test") }
            #expect(await session.request("x").response().error?.code == .invalidURL, "\(endpoints)")
            #expect(transport.requests.isEmpty)
            #expect(try await session.request("https://own.test/x").string() == "fine")
            #expect(await session.resilience.snapshot().endpoints.isEmpty)
        }
    }

    @Test("endpoints take precedence over a base URL, and serve only URLs without a host")
    func precedence() async throws {
        let transport = MockTransport { .text($0.url.absoluteString) }
        let session = session(transport, EndpointGroup(Self.three)) { $0.baseURL = URL(string: "https://base.test") }
        #expect(try await session.request("x?y=1").string() == "https://a.test/v1/x?y=1")
        #expect(try await session.request("https://own.test/x").string() == "https://own.test/x")
        #expect(try await session.request("//own.test/x").string() == "https://own.test/x")
        let seen = session.request("/x").adapt(using: Adapter { request, _ in request })
        #expect(try await seen.string() == "https://b.test/x")
        let relative = URLRequest(url: try #require(URL(string: "x")))
        #expect(try await session.request(relative).string() == "https://c.test/v1/x")
    }

    @Test("credentials in an endpoint's URL are sent only to it, and no snapshot shows them")
    func credentials() async throws {
        let transport = MockTransport { .text($0.transfer.options.authentication?.username ?? "-") }
        let session = session(transport, EndpointGroup(["https://ada:secret@a.test", "https://b.test"]))
        #expect(try await session.request("x").string() == "ada")
        #expect(try await session.request("x").string() == "-")
        let snapshot = await session.resilience.snapshot()
        #expect(snapshot.endpoints.count == 2 && !"\(snapshot)".contains("secret"))
    }
}
