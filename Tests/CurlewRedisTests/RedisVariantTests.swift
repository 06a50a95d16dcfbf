import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "Variants in Redis", .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers"))
struct RedisVariantTests {
    private let server: RedisProcess

    init() async throws { server = try await RedisProcess() }

    private func store() -> RedisCacheStore {
        RedisCacheStore(url: server.url(), connectTimeout: .seconds(5), operationTimeout: .seconds(5))
    }

    private func number(_ store: RedisCacheStore, _ command: String...) async -> Int64? {
        await store.replies([RedisCommand(command)])?.first?.number
    }

    /// Makes variants with different dates; the first one is the newest.
    private func variants(_ count: Int) -> [CacheEntry] {
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
        return (0..<count).map { entry("a", variant: "v\($0)", now: now - Double($0) * 7) }
    }

    // Bodies inside the record, and in chunks.
    @Test("a key has sixteen variants at most, and those that came first go", arguments: [100, 20_000])
    func bound(size: Int) async throws {
        let store = store()
        let variants = variants(16)
        for variant in variants { #expect(await store.put(variant, bytes(size))) }
        for name in ["new", "newer", "new"] { #expect(await store.put(entry("a", variant: name), bytes(size))) }
        let kept = Set(await store.entries(for: variants[0].key).map(\.entry.variant))
        #expect(kept == Set(variants.dropLast(2).map(\.variant) + ["new", "newer"]))
        // An entry that is older than all others is stored as well, because it is the latest one that was requested.
        let old = entry("a", variant: "old", now: Date(timeIntervalSinceNow: -1000))
        #expect(await store.put(old, bytes(size)))
        let found = await store.entries(for: old.key)
        #expect(found.count == 16 && found.contains { $0.entry.variant == "old" })
        // The keys are the hash, two sets, and the chunks of the stored variants.
        #expect(await number(store, "DBSIZE") == 3 + (size > 16_384 ? 16 : 0))
        #expect(store.faults == RedisCacheFaults())
    }

    @Test("a variant whose time is over goes when it is seen") func over() async throws {
        let store = store()
        let stored = entry("a", variant: "x")
        #expect(await store.put(stored, bytes(100)))
        let name = store.keys.entries(stored.key)
        let over = RedisRecord(entry: entry("a", variant: "over", usable: -10), size: 3, rest: bytes(3))
        let field = RedisKeys.field("over")
        _ = await store.replies([RedisCommand([Data("HSET".utf8), Data(name.utf8), field, over.encoded])])
        #expect(await number(store, "HLEN", name) == 2)
        #expect(await store.entries(for: stored.key).map(\.entry) == [stored])
        #expect(await number(store, "HLEN", name) == 1)
        #expect(store.faults == RedisCacheFaults())
    }

    // The server might confirm such an entry, but the chunks of its body are gone.
    @Test("so does one that could be validated", arguments: [(-100.0, 40.0), (-400, -1)])
    func overWithoutChunks(came: Double, usable: Double) async throws {
        let store = store()
        let stored = entry("a", variant: "x")
        #expect(await store.put(stored, bytes(100)))
        let name = store.keys.entries(stored.key)
        let over = RedisRecord(
            entry: entry(
                "a", variant: "over", usable: usable, canBeValidated: true, now: Date(timeIntervalSinceNow: came)),
            size: 20_000,
            rest: bytes(8)
        )
        let field = RedisKeys.field("over")
        _ = await store.replies([RedisCommand([Data("HSET".utf8), Data(name.utf8), field, over.encoded])])
        #expect(await store.entries(for: stored.key).map(\.entry) == [stored])
        #expect(await number(store, "HLEN", name) == 1)
        #expect(store.faults == RedisCacheFaults())
    }
}
