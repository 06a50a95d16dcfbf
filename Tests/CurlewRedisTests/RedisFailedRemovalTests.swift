import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "Removals that fail in Redis",
    .serialized,
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisFailedRemovalTests {
    private static let removals: [@Sendable (RedisCacheStore, CacheEntry) async -> Void] = [
        { await $0.remove($1) },
        { await $0.removeAll(url: $1.key.url) },
        { await $0.removeAll(origin: $1.key.origin) },
        { store, _ in await store.removeAll() },
    ]

    @Test("what could not be removed is not found, and goes when the server answers again", arguments: removals.indices)
    func unreachable(removal: Int) async throws {
        let server = try await RedisProcess()
        let proxy = try FaultyRedis(server: server.socket, .delay(.zero))
        let other = RedisCacheStore(url: server.url(), connectTimeout: .seconds(5), operationTimeout: .seconds(5))
        let store = RedisCacheStore(
            url: proxy.url(), connectTimeout: .milliseconds(300), operationTimeout: .milliseconds(300))
        let stale = entry("a")
        #expect(await other.put(stale, bytes(100)))
        #expect(try await eventually { await store.entries(for: stale.key).map(\.entry) == [stale] })
        proxy.set(.silence)
        await Self.removals[removal](store, stale)
        #expect(await other.entries(for: stale.key).count == 1)
        proxy.set(.delay(.zero))
        // The entry is a miss at once, even if the repeated removal has not ended.
        #expect(await store.entries(for: stale.key).isEmpty)
        let isRemoved = try await eventually {
            let found = await store.entries(for: stale.key)
            #expect(found.isEmpty)
            return await other.entries(for: stale.key).isEmpty
        }
        #expect(isRemoved)
        let fresh = entry("a")
        #expect(try await eventually { await store.put(fresh, bytes(200)) })
        #expect(await other.entries(for: stale.key).map(\.entry) == [fresh])
        #expect(try await eventually { await store.entries(for: stale.key).map(\.entry) == [fresh] })
    }

    @Test("a store whose URL cannot be used remembers nothing") func unusable() async {
        let store = RedisCacheStore(url: "http://host")
        await store.removeAll(url: entry("a").key.url)
        #expect(store.pendingRemovals.isEmpty)
    }
}
