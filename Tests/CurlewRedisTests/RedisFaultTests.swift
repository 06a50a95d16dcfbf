import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "A Redis server that fails",
    .serialized,
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisFaultTests {
    private func store(_ url: String, limit: Duration = .seconds(5)) -> RedisCacheStore {
        RedisCacheStore(url: url, connectTimeout: limit, operationTimeout: limit)
    }

    @Test("lookups are misses while the server is down, and a restarted server is used again")
    func killed() async throws {
        let server = try await RedisProcess()
        let store = store(server.url())
        #expect(await store.put(entry("a"), bytes(100)))
        try await server.kill()
        for _ in 0..<10 {
            #expect(await store.entries(for: entry("a").key).isEmpty)
            #expect(await !store.put(entry("a"), bytes(600_000)))
            await store.update(entry("a"))
            await store.removeAll()
            #expect(await store.size() == 0)
            #expect(await store.claimFetch(of: entry("a").key))
            await store.fetchEnded(of: entry("a").key, stored: true)
        }
        #expect(store.faults.unreachable > 0 && store.faults.suspended > 0)
        try await server.start()
        #expect(try await eventually { await store.put(entry("a"), bytes(100)) })
        #expect(try await store.body(entry("a").key) == bytes(100))
    }

    @Test("a restart of the server between two commands causes no failure") func restarted() async throws {
        let server = try await RedisProcess()
        let store = store(server.url())
        #expect(await store.put(entry("a"), bytes(100)))
        try await server.kill()
        try await server.start()
        #expect(await store.put(entry("a"), bytes(100)))
        #expect(store.faults == RedisCacheFaults())
    }

    @Test("a slow server causes misses within the timeout, and is then not asked for a while")
    func slow() async throws {
        let server = try await RedisProcess()
        let proxy = try FaultyRedis(server: server.socket, .delay(.zero))
        let store = store(proxy.url(), limit: .milliseconds(300))
        #expect(try await eventually { await store.put(entry("a"), bytes(100)) })
        proxy.set(.delay(.seconds(5)))
        let start = ContinuousClock.now
        for _ in 0..<50 { #expect(await store.entries(for: entry("a").key).isEmpty) }
        #expect(ContinuousClock.now - start < .seconds(15))
        #expect(store.faults.timedOut > 0 && store.faults.suspended > 30)
        proxy.set(.delay(.zero))
        #expect(try await eventually { await store.entries(for: entry("a").key).count == 1 })
    }

    @Test("an entry whose commit was not answered keeps its body") func lostCommit() async throws {
        let server = try await RedisProcess()
        let proxy = try FaultyRedis(server: server.socket, .delay(.zero))
        let (store, other) = (store(proxy.url()), store(server.url()))
        let (stored, body) = (entry("a"), bytes(512 << 10))
        let writer = try #require(await store.writer(for: stored, expectedSize: nil))
        // The body is exactly one chunk, so only the record is sent by `commit`.
        #expect(await writer.write(body))
        // The store sends the record twice, and both answers are lost.
        proxy.set(.cut(2))
        #expect(await !writer.commit())
        #expect(try await other.body(stored.key) == body)
        #expect(other.faults == RedisCacheFaults())
    }

    @Test("a server that never answers causes misses") func silent() async throws {
        let proxy = try FaultyRedis(.silence)
        let store = RedisCacheStore(url: proxy.url())
        #expect(await store.entries(for: entry("a").key).isEmpty)
        #expect(await !store.put(entry("a"), bytes(100)))
        await #expect(throws: CurlewError.self) { try await store.ping() }
    }

    @Test("a server without memory refuses new entries, and stored entries are still found")
    func outOfMemory() async throws {
        let server = try await RedisProcess("--maxmemory-policy", "noeviction")
        let store = store(server.url())
        #expect(await store.put(entry("a"), bytes(600_000)))
        #expect(await store.replies([RedisCommand("CONFIG", "SET", "maxmemory", "1mb")]) != nil)
        for size in [100, 600_000, 3_000_000] { #expect(await !store.put(entry("b"), bytes(size))) }
        #expect(store.faults.refused >= 3 && store.faults.suspended == 0)
        #expect(try await store.body(entry("a").key) == bytes(600_000))
        #expect(await store.entries(for: entry("b").key).isEmpty)
        #expect(await store.replies([RedisCommand("CONFIG", "SET", "maxmemory", "0")]) != nil)
        #expect(await store.put(entry("b"), bytes(600_000)))
    }

    private static let answers: [Data] = [
        Data("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), Data([0, 1, 2, 3]), Data("*-7\r\n".utf8), Data("$99".utf8),
        Data("*3\r\n:1\r\n*2\r\n$-1\r\n+x\r\n-no\r\n".utf8), Data("+OK\r\n+OK\r\n+OK\r\n".utf8), bytes(100_000),
        Data("*2\r\n$1\r\na\r\n$3\r\nabc\r\n".utf8), Data(String(repeating: "*1\r\n", count: 5000).utf8),
        Data(":1\r\n:1\r\n*2\r\n$1\r\na\r\n$3\r\nabc\r\n".utf8), Data(":1\r\n:1\r\n*1\r\n:1\r\n".utf8),
        Data(":9223372036854775808\r\n".utf8), Data("$-5\r\n".utf8),
    ]

    @Test("invalid replies of a server cause misses", arguments: answers) func garbage(answer: Data) async throws {
        let proxy = try FaultyRedis(.answer(answer))
        for _ in 0..<2 {
            let store = store(proxy.url(), limit: .milliseconds(200))
            #expect(await store.entries(for: entry("a").key).isEmpty)
            #expect(await !store.put(entry("a"), bytes(600_000)))
            #expect(await store.claimFetch(of: entry("b").key))
            await store.removeAll(url: entry("a").key.url)
            #expect(await store.size() >= 0)
        }
    }

    @Test("a wrong password causes misses, and ping reports the reason") func password() async throws {
        let server = try await RedisProcess("--requirepass", "sesame")
        for login in ["", ":wrong@", "stranger:sesame@"] {
            let store = store(server.url(login))
            #expect(await !store.put(entry("a"), bytes(100)))
            #expect(await store.entries(for: entry("a").key).isEmpty)
            #expect(store.faults.rejected + store.faults.refused > 0)
            let error = await #expect(throws: CurlewError.self) { try await self.store(server.url(login)).ping() }
            #expect(error?.code == .authenticationFailed)
            #expect(error.map { "\($0)".contains("wrong") } == false)
        }
        for login in [":sesame@", "default:sesame@"] {
            let store = store(server.url(login) + "/3")
            try await store.ping()
            #expect(await store.put(entry("a"), bytes(100)))
            #expect(await store.entries(for: entry("a").key).count == 1)
        }
        // Entries of another database are not found.
        #expect(await store(server.url(":sesame@") + "/4").entries(for: entry("a").key).isEmpty)
    }

    @Test("a port without a listener or an unknown host causes misses, and ping throws") func nowhere() async throws {
        let refusing = try LoopbackListener(listens: false)
        defer { withExtendedLifetime(refusing) {} }
        for host in ["127.0.0.1:\(refusing.port)", "no-such-host.invalid"] {
            let store = RedisCacheStore(url: "redis://" + host)
            for _ in 0..<5 { #expect(await store.entries(for: entry("a").key).isEmpty) }
            await #expect(throws: CurlewError.self) { try await store.ping() }
        }
    }

    @Test(
        "a store with an unusable URL has no entries, and ping reports the reason",
        arguments: [
            ("rediss://host", CurlewError.Code.unsupported), ("http://host", .invalidURL), ("redis://", .invalidURL),
            ("no url", .invalidURL), ("redis://host/x", .invalidURL), ("redis://host:99999", .invalidURL),
        ]
    )
    func urls(url: String, code: CurlewError.Code) async throws {
        let store = RedisCacheStore(url: url)
        #expect(await store.entries(for: entry("a").key).isEmpty)
        #expect(await !store.put(entry("a"), bytes(10)))
        let error = await #expect(throws: CurlewError.self) { try await store.ping() }
        #expect(error?.code == code)
    }
}
