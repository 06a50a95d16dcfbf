import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

/// A Redis that needs memory may evict any key. These tests delete the sets with which removals find entries.
@Suite(
    "A Redis server that evicts keys",
    .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisEvictionTests {
    private let server: RedisProcess
    private let store: RedisCacheStore

    init() async throws {
        server = try await RedisProcess()
        store = RedisCacheStore(url: server.url(), connectTimeout: .seconds(5), operationTimeout: .seconds(5))
    }

    private func number(_ command: String...) async -> Int64? {
        await store.replies([RedisCommand(command)])?.first?.number
    }

    private func sets(_ entry: CacheEntry) -> [String] {
        [store.keys.url(entry.key.url), store.keys.origin(entry.key.origin)]
    }

    @Test("an entry that a removal would not find is a miss", arguments: 0..<2) func miss(set: Int) async throws {
        let stored = entry("a", partition: "p")
        #expect(await store.put(stored, bytes(100)))
        #expect(await store.entries(for: stored.key).count == 1)
        #expect(await number("DEL", sets(stored)[set]) == 1)
        #expect(await store.entries(for: stored.key).isEmpty)
        // The result of a validation that was under way does not restore the entry.
        await store.update(stored)
        #expect(await store.entries(for: stored.key).isEmpty)
    }

    @Test(
        "an entry that a removal did not find stays a miss, and is deleted when its URL is stored again",
        arguments: 0..<2)
    func storedAgain(set: Int) async throws {
        let stale = ["x", "y"].map { entry("a", partition: "p", variant: $0) }
        for entry in stale { #expect(await store.put(entry, bytes(20_000))) }
        #expect(await number("DEL", sets(stale[0])[set]) == 1)
        if set == 0 {
            await store.removeAll(url: stale[0].key.url)
        } else {
            await store.removeAll(origin: stale[0].key.origin)
        }
        let fresh = entry("a", partition: "p", variant: "x")
        #expect(await store.put(fresh, bytes(20_000, seed: 2)))
        let found = await store.entries(for: fresh.key)
        #expect(found.map(\.entry) == [fresh])
        #expect(try await found.first?.body.whole() == bytes(20_000, seed: 2))
        // The keys are the hash, two sets and a chunk.
        #expect(await number("DBSIZE") == 4)
    }

    @Test("if the server has no memory for a record, its chunk is left to expire", arguments: [false, true])
    func outOfMemory(updates: Bool) async throws {
        let stored = entry("a", variant: "x", usable: 86_400)
        let chunk = bytes(20_000)
        let record = RedisRecord(
            entry: stored, size: 20_000, rest: RedisRecord.bytes(RedisRecord.check(chunk, number: 0), count: 8))
        #expect(await store.put(chunk, number: 0, of: stored))
        if updates {
            #expect(await store.commit(record) == true)
            #expect(await number("PEXPIRE", store.keys.chunk(stored.id, 0), "600000") == 1)
        }
        let keys = await number("DBSIZE")
        _ = await store.replies([RedisCommand(["CONFIG", "SET", "maxmemory", "1"])])
        if updates { await store.update(stored) } else { #expect(await store.commit(record) == false) }
        #expect(store.faults.refused == 1)
        #expect(await number("DBSIZE") == keys)
        #expect(try #require(await number("PTTL", store.keys.chunk(stored.id, 0))) <= 600_000)
        // With memory, the same step succeeds, and the chunk lives as long as the entry.
        _ = await store.replies([RedisCommand(["CONFIG", "SET", "maxmemory", "0"])])
        if updates { await store.update(stored) } else { #expect(await store.commit(record) == true) }
        #expect(try #require(await number("PTTL", store.keys.chunk(stored.id, 0))) > 80_000_000)
        #expect(try await store.entries(for: stored.key).first?.body.whole() == chunk)
    }

    @Test("an entry that the removal of its origin did not find is a miss after its URL is stored again")
    func otherPartition() async throws {
        let stale = entry("a", partition: "p")
        #expect(await store.put(stale, bytes(100)))
        #expect(await number("DEL", sets(stale)[1]) == 1)
        await store.removeAll(origin: stale.key.origin)
        #expect(await store.put(entry("a"), bytes(100)))
        #expect(await store.entries(for: stale.key).isEmpty)
    }

    @Test("a removal finds the entry without a partition even if the URL's set is gone") func computed() async throws {
        let stored = entry("a")
        #expect(await store.put(stored, bytes(20_000)))
        #expect(await number("DEL", sets(stored)[0]) == 1)
        await store.removeAll(url: stored.key.url)
        // Only the set of the origin is left.
        #expect(await number("DBSIZE") == 1)
    }

    @Test("the sets live as long as the entry that lives longest") func time() async throws {
        let names = sets(entry("a"))
        for (variant, usable) in [("x", 100.0), ("y", 1000), ("z", 100)] {
            #expect(await store.put(entry("a", variant: variant, usable: usable), bytes(10)))
        }
        let hash = try #require(await number("PTTL", store.keys.entries(entry("a").key)))
        #expect((900_000...1_000_000).contains(hash))
        for name in names { #expect(try #require(await number("PTTL", name)) >= hash - 10_000) }
    }
}

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
    @Test("a key keeps at most sixteen variants, and the oldest ones are evicted", arguments: [100, 20_000])
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

    @Test("an expired variant is deleted by the next lookup") func over() async throws {
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
    @Test(
        "an expired variant that could be validated is also deleted by the next lookup",
        arguments: [(-100.0, 40.0), (-400, -1)])
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
