import Curlew
import CurlewCore
import CurlewRedis
import CurlewTesting
import Foundation
import StoreSupport
import Testing

/// Sessions that share responses in Redis. Each session acts as one process of a fleet.
@Suite(
    "Sessions over Redis",
    .timeLimit(.minutes(5)),
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct SessionOverRedisTests {
    private let redis: RedisProcess
    private let server: TestServer

    init() async throws {
        redis = try await RedisProcess()
        server = try TestServer()
    }

    private func sessions(_ count: Int) -> [Session] {
        (0..<count).map { _ in
            let store = RedisCacheStore(
                url: redis.url(),
                prefix: "curlew:",
                maximumEntrySize: 4 << 20,
                connectTimeout: .seconds(5),
                operationTimeout: .seconds(5),
                connections: 1,
                claimTimes: .minutes
            )
            let cache = ResponseCache(store: store, mode: .shared)
            return Session(configuration: SessionConfiguration { $0.cache = cache })
        }
    }

    private func response(_ text: String = "hello") -> TestServer.Response {
        .text(text).header("Cache-Control", "max-age=600, stale-if-error=600")
    }

    /// Sends a request with each session, and returns the bodies. Runs `meanwhile` once the server has received a
    /// request.
    private func texts(_ sessions: [Session], meanwhile: () async throws -> Void) async throws -> [String?] {
        let url = server.url("/a")
        return try await withThrowingTaskGroup(of: String?.self) { group in
            for session in sessions { group.addTask { try? await session.request(url).string() } }
            _ = try await server.waitForRequests(count: 1)
            try await meanwhile()
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("a request that a fleet makes at once is sent by one session") func fleet() async throws {
        let gate = Gate()
        server.script("/a", response().stalling(until: gate, at: .beforeHead))
        let texts = try await texts(sessions(20)) { gate.open() }
        #expect(texts == Array(repeating: "hello", count: 20))
        #expect(server.requests.count == 1)
    }

    @Test("a truncated response is not stored, and the next session of the fleet sends the request")
    func broken() async throws {
        let body = Data(repeating: 7, count: 2_000_000)
        let whole = TestServer.Response.data(body).header("Cache-Control", "max-age=600")
        server.script("/a", whole.faulting(.close, at: .inBody(after: 1_500_000)), whole)
        let url = server.url("/a")
        let all = sessions(2)
        #expect(await all[0].request(url).response().error != nil)
        let second = await all[1].request(url).response()
        #expect(second.data == body && second.cacheStatus == .miss)
        let third = await all[0].request(url).response()
        #expect(third.data == body && third.cacheStatus == .hit)
    }

    @Test("if Redis is killed while a fleet waits, each session sends its request and none fails")
    func killed() async throws {
        let gate = Gate()
        server.route("/a") { [response = response()] _ in response.stalling(until: gate, at: .beforeHead) }
        let texts = try await texts(sessions(5)) {
            try await redis.kill()
            _ = try await server.waitForRequests(count: 5)
            gate.open()
        }
        #expect(texts == Array(repeating: "hello", count: 5))
    }

    @Test("without Redis requests are misses, and when it is back they are hits") func restarted() async throws {
        server.route("/a") { [response = response()] _ in response }
        let session = sessions(1)[0]
        let url = server.url("/a")
        try await redis.kill()
        for _ in 0..<8 {
            let answer = await session.request(url).response()
            #expect(answer.error == nil && answer.cacheStatus == .miss)
        }
        try await redis.start()
        let isHit = try await eventually { await session.request(url).response().cacheStatus == .hit }
        #expect(isHit)
    }

    @Test("a request that waits for another process can be cancelled, and obeys its total timeout") func impatient()
        async throws
    {
        let gate = Gate()
        server.script("/a", response().stalling(until: gate, at: .beforeHead))
        let all = sessions(3)
        let url = server.url("/a")
        async let first = all[0].request(url).string()
        _ = try await server.waitForRequests(count: 1)
        let late = await all[1].request(url).timeouts { $0.total = .milliseconds(200) }.response()
        #expect(late.error?.code == .totalTimedOut)
        let request = all[2].request(url)
        let cancelled = Task { await request.response() }
        try await eventually { request.state != .initialized }
        request.cancel()
        #expect(await cancelled.value.error?.code == .cancelled)
        #expect(server.requests.count == 1)
        gate.open()
        #expect(try await first == "hello")
    }
}

/// Tests with the servers that `scripts/servers` starts. Other tests use them as well, so each test has its own prefix.
@Suite("The Redis servers of scripts/servers", .enabled(if: SharedServers.shouldRun, "run `make test`"))
struct SharedServerTests {
    @Test("two stores share entries, with and without a password", arguments: [false, true])
    func sharing(hasPassword: Bool) async throws {
        let address = try #require(SharedServers.values[hasPassword ? "REDIS_WITH_PASSWORD" : "REDIS"])
        let login = hasPassword ? ":" + (try #require(SharedServers.values["REDIS_PASSWORD"])) + "@" : ""
        let prefix = "test-\(UUID().uuidString):"
        let stores = (0..<2).map { _ in
            RedisCacheStore(
                url: "redis://" + login + address,
                prefix: prefix,
                connectTimeout: .seconds(5),
                operationTimeout: .seconds(5)
            )
        }
        try await stores[0].ping()
        #expect(await stores[0].put(entry("a"), bytes(700_000)))
        #expect(try await stores[1].body(entry("a").key) == bytes(700_000))
        await stores[1].removeAll()
        #expect(await stores[0].entries(for: entry("a").key).isEmpty)
    }
}

/// The values in the file that `scripts/servers` writes.
private enum SharedServers {
    static let values: [String: String] = {
        let path = ProcessInfo.processInfo.environment["CURLEW_TEST_SERVERS"] ?? ""
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").reduce(into: [:]) { values, line in
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
    }()

    static var shouldRun: Bool {
        values["REDIS"] != nil || ProcessInfo.processInfo.environment["CI"] == "true"
    }
}
