import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "Removing from Redis", .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers")
)
struct RedisRemovalTests {
    private let server: RedisProcess

    init() async throws { server = try await RedisProcess() }

    private func store() -> RedisCacheStore {
        RedisCacheStore(
            url: server.url(), maximumEntrySize: 16 << 20, connectTimeout: .seconds(5), operationTimeout: .seconds(5))
    }

    private func keyCount(_ store: RedisCacheStore) async -> Int64? {
        await store.replies([RedisCommand("DBSIZE")])?.first?.number
    }

    @Test("the removal of an origin removes its entries in all partitions and none of another origin")
    func origin() async throws {
        let store = store()
        let gone = (0..<120).map { entry("\($0)", partition: $0 % 2 == 0 ? "" : "p", variant: $0 % 3 == 0 ? "v" : "") }
        let kept = ["https://store.test", "http://store.test:81", "http://store.test.more"].map {
            entry("a", origin: $0)
        }
        for entry in gone + kept { #expect(await store.put(entry, bytes(20_000))) }
        await store.removeAll(origin: "http://store.test/")
        for entry in gone { #expect(await store.entries(for: entry.key).isEmpty) }
        for entry in kept { #expect(try await store.body(entry.key) == bytes(20_000)) }
        // The keys of an entry are the hash, two sets and a chunk.
        #expect(await keyCount(store) == 4 * Int64(kept.count))
    }

    @Test("the chunks of an entry that is replaced or removed are deleted") func chunks() async throws {
        let store = store()
        func put(_ size: Int) async -> CacheEntry {
            let stored = entry("a")
            #expect(await store.put(stored, bytes(size)))
            return stored
        }
        for size in [600_000, 1_300_000, 100] {
            _ = await put(size)
            // The keys are the hash, two sets, and chunks of 512 KiB.
            #expect(await keyCount(store) == 3 + (size > 16_384 ? Int64(size + 524_287) / 524_288 : 0))
        }
        await store.remove(await put(600_000))
        #expect(await keyCount(store) == 2)
        await store.removeAll(url: await put(600_000).key.url)
        #expect(await keyCount(store) == 1)
        await store.removeAll(origin: await put(600_000).key.origin)
        #expect(await keyCount(store) == 0)
        #expect(store.faults == RedisCacheFaults())
    }

    @Test("a body of up to 4 MiB that is replaced before it is read is a miss and not counted as damaged")
    func replacedBefore()
        async throws
    {
        let store = store()
        let (old, new) = (entry("a"), entry("a"))
        await store.put(old, bytes(4_000_000))
        let found = try #require(await store.entries(for: old.key).first)
        let reader = try #require(await found.body.reader(of: 0..<4_000_000))
        await store.put(new, bytes(700_000, seed: 2))
        // A reader that has begun reads the whole old body; a new reader of it is a miss.
        var read = Data()
        while let chunk = try await reader.next() { read.append(chunk) }
        #expect(read == bytes(4_000_000))
        #expect(await found.body.reader(of: 0..<4_000_000) == nil)
        #expect(try await store.body(new.key) == bytes(700_000, seed: 2))
        #expect(store.faults == RedisCacheFaults())
    }

    @Test("a reader that has begun a longer body reads it to its end although the entry is replaced")
    func replacedWhileRead()
        async throws
    {
        let store = store()
        let old = entry("a")
        await store.put(old, bytes(9_000_000), chunk: 1 << 20)
        let found = try #require(await store.entries(for: old.key).first)
        let reader = try #require(await found.body.reader(of: 0..<9_000_000))
        var read = try #require(try await reader.next())
        await store.put(entry("a"), bytes(100))
        while let chunk = try await reader.next() { read.append(chunk) }
        #expect(read == bytes(9_000_000))
        // The chunks of the replaced body expire soon.
        let time = try #require(await store.replies([RedisCommand("PTTL", store.keys.chunk(old.id, 0))])?.first?.number)
        #expect((1...60_000).contains(time))
    }

    @Test("readers and writers of one key see whole bodies or none") func race() async throws {
        let store = store()
        let key = entry("a").key
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<3 {
                group.addTask {
                    for round in 0..<15 {
                        let size = 500_000 + 100_000 * ((writer + round) % 5)
                        await store.put(entry("a", headers: ["X-Size": "\(size)"]), bytes(size, seed: UInt64(size)))
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<60 {
                        guard let found = await store.entries(for: key).first else { continue }
                        let size = found.entry.response.head.headers["X-Size"].flatMap(Int.init) ?? 0
                        guard let body = try? await found.body.whole() else { continue }
                        #expect(body == bytes(size, seed: UInt64(size)))
                    }
                }
            }
        }
        #expect(store.faults.damagedEntries == 0 && store.faults.refused == 0)
        let size = try #require(await store.entries(for: key).first?.body.size)
        #expect(await keyCount(store) == 3 + (size + 524_287) / 524_288)
    }

    @Test("the names of expired entries do not accumulate in the set of their origin") func gathering() async throws {
        let store = store()
        for number in 0..<200 {
            let stored = entry("\(number)")
            await store.put(stored, bytes(10))
            // Deletes the keys, as their expiry would.
            _ = await store.replies([
                RedisCommand("DEL", store.keys.entries(stored.key), store.keys.url(stored.key.url))
            ])
        }
        let set = store.keys.origin("http://store.test/")
        let count = try #require(await store.replies([RedisCommand("SCARD", set)])?.first?.number)
        #expect(count < 20)
    }
}

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

    @Test(
        "an entry whose removal failed is a miss, and is removed when the server answers again",
        arguments: removals.indices)
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

    @Test("a store with an unusable URL records no failed removals") func unusable() async {
        let store = RedisCacheStore(url: "http://host")
        await store.removeAll(url: entry("a").key.url)
        #expect(await store.failedRemovals.pending.isEmpty)
    }
}
