import Curlew
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// `configuration.dns.resolver`, as a session's requests use it.
@Suite("A session's resolver", .timeLimit(.minutes(4)))
struct ResolverTests {
    /// Resolves every host below `.service`, and records the questions.
    private final class Registry: Sendable {
        let asked = Lock<[String]>([])

        func resolve(_ host: String, _ port: Int) throws -> DNSAnswer {
            asked.withLock { $0.append("\(host):\(port)") }
            guard host.hasSuffix(".service") else { throw URLError(.cannotFindHost) }
            return DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .seconds(60))
        }
    }

    private func session(
        _ registry: Registry, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.dns.resolver = { host, port in try registry.resolve(host, port) }
                change(&$0)
            })
    }

    @Test("the resolver is asked for the target of a redirect")
    func redirects() async throws {
        let (server, registry) = (try TestServer(), Registry())
        let port = server.port
        server.route("/start") { _ in
            TestServer.Response(status: 302, headers: ["Location": "http://second.service:\(port)/end"])
        }
        server.route("/end") { _ in .text("there") }
        let text = try await session(registry).request("http://first.service:\(port)/start").string()
        #expect(text == "there")
        #expect(registry.asked.withLock { $0 } == ["first.service:\(port)", "second.service:\(port)"])
    }

    @Test("the resolver is asked for the host of a WebSocket")
    func webSockets() async throws {
        let (server, registry) = (try TestServer(), Registry())
        server.webSocket("/chat", .echo)
        let socket = session(registry).webSocket("ws://chat.service:\(server.port)/chat")
        try await socket.send("hello")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hello"))
        try await socket.close()
        #expect(registry.asked.withLock { $0 } == ["chat.service:\(server.port)"])
    }

    @Test("a name that the resolver does not know fails the request, and is not looked up elsewhere")
    func errors() async throws {
        let (server, registry) = (try TestServer(), Registry())
        let response = await session(registry).request("http://unknown.test:\(server.port)/get").response()
        #expect(response.error?.code == .resolveFailed)
        #expect((response.error?.underlying as? URLError)?.code == .cannotFindHost)
        #expect(server.connectionCount == 0)
    }

    @Test("the resolver is not asked for localhost")
    func localhost() async throws {
        let (server, registry) = (try TestServer(), Registry())
        let response = await session(registry).request("http://localhost:\(server.port)/get").response()
        #expect(response.error == nil && server.connectionCount == 1)
        #expect(registry.asked.withLock { $0.isEmpty })
    }

    @Test("a retry asks the resolver again, because failures are not stored")
    func retries() async throws {
        let (server, asked) = (try TestServer(), Lock(0))
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.dns.resolver = { _, _ in
                    guard
                        asked.withLock({
                            $0 += 1; return $0
                        }) == 2
                    else { throw URLError(.cannotFindHost) }
                    return DNSAnswer(addresses: ["127.0.0.1"])
                }
            },
            interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0))
        let status = await session.request("http://shop.service:\(server.port)/get").response().response?.statusCode
        #expect(status == 200)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test("a resolver that ignores its cancellation does not delay the cancellation of a request")
    func cancellation() async throws {
        let gate = Gate()
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.dns.resolver = { _, _ in
                    // An unstructured task is not cancelled with the resolver.
                    await Task { try? await gate.wait() }.value
                    return DNSAnswer(addresses: ["127.0.0.1"])
                }
            })
        let request = session.request("http://shop.service/")
        async let response = request.response()
        try await gate.waitForArrivals(count: 1)
        request.cancel()
        #expect(await response.error?.code == .cancelled)
        await session.invalidate()
        gate.open()
    }

    @Test("sessions with resolvers of their own do not share stored responses")
    func caches() async throws {
        let (server, registry) = (try TestServer(), Registry())
        server.route("/cached") { _ in
            TestServer.Response(status: 200, headers: ["Cache-Control": "max-age=60"], body: .data(Data("a".utf8)))
        }
        let cache = ResponseCache()
        let url = "http://shop.service:\(server.port)/cached"
        let one = session(registry) { $0.cache = cache }
        var statuses: [CacheStatus?] = []
        for session in [one, one, session(registry) { $0.cache = cache }] {
            statuses.append(await session.request(url).response().cacheStatus)
        }
        #expect(statuses == [.miss, .hit, .miss])
    }
}
