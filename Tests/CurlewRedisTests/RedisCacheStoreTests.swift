import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite(
    "A cache in Redis", .enabled(if: RedisProcess.shouldRun, "redis-server is missing: run scripts/packages servers"))
struct RedisCacheStoreTests {
    private let server: RedisProcess

    init() async throws { server = try await RedisProcess() }

    /// A store with timeouts that are long enough for a busy machine.
    private func store(maximumEntrySize: Int64 = 4 << 20, connections: Int = 4) -> RedisCacheStore {
        RedisCacheStore(
            url: server.url(),
            maximumEntrySize: maximumEntrySize,
            connectTimeout: .seconds(5),
            operationTimeout: .seconds(5),
            connections: connections
        )
    }

    // An empty body, bodies inside the record, around the limit for those, around one chunk, and of several chunks.
    @Test(
        "a stored body is read back unchanged, also by the store of another process",
        arguments: [0, 1, 16_384, 16_385, 524_287, 524_288, 524_289, 1_500_000]
    )
    func roundTrip(size: Int) async throws {
        let (stored, body) = (entry("a"), bytes(size))
        let store = store()
        for chunk in [size + 1, 10_007] {
            #expect(await store.put(stored, body, chunk: chunk))
            for store in [store, self.store()] {
                let found = try #require(await store.entries(for: stored.key).first)
                #expect(found.entry == stored)
                #expect(found.body.size == size)
                #expect(try await found.body.whole() == body)
            }
        }
        #expect(store.faults == RedisCacheFaults())
    }

    @Test("a range of a body has exactly its bytes") func ranges() async throws {
        let (stored, body) = (entry("a"), bytes(1_200_000))
        let store = store()
        await store.put(stored, body)
        let found = try #require(await store.entries(for: stored.key).first)
        let edges: [Int64] = [0, 1, 524_287, 524_288, 524_289, 1_048_576, 1_199_999, 1_200_000]
        for start in edges {
            for end in edges where start <= end {
                #expect(try await found.body.whole(start..<end) == body[Int(start)..<Int(end)])
            }
        }
        #expect(await found.body.reader(of: 0..<1_200_001) == nil)
    }

    @Test("a body longer than 4 MiB is stored and read whole") func longBody() async throws {
        let (stored, body) = (entry("a"), bytes(9_000_000))
        let store = store(maximumEntrySize: 16 << 20)
        #expect(await store.put(stored, body, chunk: 1 << 20))
        #expect(try await store.body(stored.key) == body)
    }

    @Test("variants are stored side by side, and a new response replaces the old one of its variant")
    func variants() async throws {
        let store = store()
        let entries = ["x", "y"].map { entry("a", variant: $0) }
        for entry in entries { await store.put(entry, Data(entry.variant.utf8)) }
        await store.put(entry("a", partition: "p"), Data("other".utf8))
        #expect(Set(await store.entries(for: entries[0].key).map(\.entry.variant)) == ["x", "y"])
        let newer = entry("a", variant: "x")
        await store.put(newer, bytes(600_000))
        let found = await store.entries(for: newer.key)
        #expect(found.count == 2 && Set(found.map(\.entry.id)) == [newer.id, entries[1].id])
        let other = try #require(found.first { $0.entry.variant == "y" })
        #expect(try await other.body.whole() == Data("y".utf8))
        #expect(try await store.body(entry("a", partition: "p").key) == Data("other".utf8))
    }

    @Test("a body that was dropped, is too large or is not yet committed is not found") func writers() async throws {
        let store = store(maximumEntrySize: 2_000_000)
        let stored = entry("a")
        let writer = try #require(await store.writer(for: stored, expectedSize: nil))
        #expect(await writer.write(bytes(600_000)))
        #expect(await store.entries(for: stored.key).isEmpty)
        await writer.drop()
        let other = try #require(await store.writer(for: stored, expectedSize: nil))
        #expect(await other.write(bytes(1_500_000)))
        #expect(await !other.write(bytes(1_500_000)))
        #expect(await !other.commit())
        #expect(await store.writer(for: stored, expectedSize: 2_000_001) == nil)
        #expect(await store.size() == 0)
    }

    @Test("a validation changes head and lifetime, and not the body") func updating() async throws {
        let store = store()
        for size in [100, 700_000] {
            let (stored, body) = (entry("a\(size)"), bytes(size))
            await store.put(stored, body)
            var newer = stored
            newer.response.head.headers.add(name: "Age", value: "7")
            newer.lifetime.usableUntil += 60
            await store.update(newer)
            let found = try #require(await store.entries(for: stored.key).first)
            #expect(found.entry == newer)
            #expect(try await found.body.whole() == body)
            let other = entry("a\(size)")
            await store.put(other, body)
            await store.update(newer)
            await store.remove(newer)
            #expect(await store.entries(for: stored.key).map(\.entry) == [other])
        }
    }

    @Test("a validation does not extend an entry whose body is gone") func updatingWithoutBody() async throws {
        let (store, stored) = (store(), entry("a"))
        await store.put(stored, bytes(20_000))
        _ = await store.replies([RedisCommand("DEL", store.keys.chunk(stored.id, 0))])
        var newer = stored
        newer.lifetime.usableUntil += 60
        await store.update(newer)
        #expect(await store.entries(for: stored.key).map(\.entry) == [stored])
    }

    @Test("an entry, a URL in all partitions, or everything with the prefix can be removed") func removing()
        async throws
    {
        let store = store()
        let stranger = RedisCacheStore(
            url: server.url(), prefix: "other:", connectTimeout: .seconds(5), operationTimeout: .seconds(5))
        let entries = [entry("a"), entry("a", partition: "p"), entry("b")]
        for entry in entries { await store.put(entry, bytes(600_000)) }
        await stranger.put(entries[0], bytes(10))
        await store.remove(entries[2])
        #expect(await store.entries(for: entries[2].key).isEmpty)
        await store.removeAll(url: entries[0].key.url)
        #expect(await store.entries(for: entries[0].key).isEmpty)
        #expect(await store.entries(for: entries[1].key).isEmpty)
        await store.put(entries[0], bytes(600_000))
        #expect(await store.size() >= 600_000)
        await store.removeAll()
        #expect(await store.entries(for: entries[0].key).isEmpty)
        #expect(await store.size() == 0)
        #expect(await stranger.entries(for: entries[0].key).count == 1)
    }

    @Test("an entry and its chunks expire when they may no longer be served") func timeToLive() async throws {
        let store = store()
        let stored = entry("a", usable: 100)
        await store.put(stored, bytes(600_000))
        for name in [store.keys.entries(stored.key), store.keys.chunk(stored.id, 0), store.keys.chunk(stored.id, 1)] {
            let time = try #require(await store.replies([RedisCommand("PTTL", name)])?.first?.number)
            #expect((90_000...100_000).contains(time))
        }
        #expect(await store.writer(for: entry("over", usable: -1), expectedSize: nil) == nil)
        // An expired entry that can be validated is stored for the time that a validation takes.
        #expect(await store.put(entry("stale", usable: -1, canBeValidated: true), bytes(10)))
        #expect(await store.entries(for: entry("stale").key).count == 1)
    }

    @Test("fields with credentials are not written") func secrets() async throws {
        let store = store()
        let stored = entry("a", headers: ["Set-Cookie": "marker", "ETag": "\"kept\"", "X-Api-Key": "marker"])
        await store.put(stored, bytes(10))
        await store.update(stored)
        #expect(await store.entries(for: stored.key).first?.entry.response.head.headers.map(\.name) == ["ETag"])
        let raw = await store.replies([RedisCommand("HVALS", store.keys.entries(stored.key))])?.first?.elements
        #expect(raw?.first?.data?.range(of: Data("marker".utf8)) == nil)
    }

    @Test("a thousand lookups at once share few connections") func pipelining() async throws {
        let store = store(connections: 1)
        for number in 0..<20 { await store.put(entry("\(number)"), bytes(500, seed: UInt64(number))) }
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    (try? await store.body(entry("\(number % 20)").key)) == bytes(500, seed: UInt64(number % 20))
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        let info = await store.replies([RedisCommand("INFO", "stats")])?.first?.data ?? Data()
        #expect(String(decoding: info, as: UTF8.self).contains("total_connections_received:2\r\n"))
    }

    // MARK: Damage

    @Test("a record that is damaged anywhere is a miss, and is removed") func damagedRecord() async throws {
        let (store, stored) = (store(), entry("a"))
        let (name, field) = (store.keys.entries(stored.key), RedisKeys.field(stored.variant))
        await store.put(stored, bytes(300))
        let get = RedisCommand([Data("HGET".utf8), Data(name.utf8), field])
        let record = try #require(await store.replies([get])?.first?.data)
        for offset in stride(from: 0, to: record.count, by: 7) {
            var damaged = record
            damaged[offset] ^= 0x10
            _ = await store.replies([RedisCommand([Data("HSET".utf8), Data(name.utf8), field, damaged])])
            #expect(await store.entries(for: stored.key).isEmpty)
            #expect(await store.replies([get])?.first == .null)
        }
        for length in [0, 1, 20, record.count - 1] {
            _ = await store.replies([RedisCommand([Data("HSET".utf8), Data(name.utf8), field, record.prefix(length)])])
            #expect(await store.entries(for: stored.key).isEmpty)
        }
    }

    @Test("a body without one of its chunks, or with a wrong one, is a miss", arguments: ["", "wrong"])
    func damagedChunk(content: String) async throws {
        let (store, stored) = (store(), entry("a"))
        for number in 0..<3 {
            await store.put(stored, bytes(1_300_000))
            let name = store.keys.chunk(stored.id, number)
            _ = await store.replies([content.isEmpty ? RedisCommand("DEL", name) : RedisCommand("SET", name, content)])
            let found = try #require(await store.entries(for: stored.key).first)
            #expect(await found.body.reader(of: 0..<1_300_000) == nil)
            #expect(await store.entries(for: stored.key).isEmpty)
        }
        #expect(store.faults.damagedEntries == 3)
    }
}
