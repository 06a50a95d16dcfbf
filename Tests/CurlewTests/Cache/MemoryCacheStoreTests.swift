import Curlew
import CurlewCore
import Foundation
import Testing

@Suite struct MemoryCacheStoreTests {
    private static let cost = 1000

    private func entry(_ url: String, partition: String = "", variant: String = "", id: String? = nil) -> CacheEntry {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        return CacheEntry(
            id: id ?? "\(partition)\(url)\(variant)",
            key: CacheKey(url: url, partition: partition),
            variant: variant,
            response: StoredResponse(head: ResponseHead(status: 200), requestTime: now, responseTime: now),
            lifetime: CacheLifetime(freshUntil: now, usableUntil: now, canBeValidated: false)
        )
    }

    /// Puts an entry that costs 1000 bytes.
    @discardableResult
    private func put(_ entry: CacheEntry, in store: MemoryCacheStore) async -> Bool {
        let body = Data(count: Self.cost - 512 - entry.key.url.utf8.count)
        guard let writer = await store.writer(for: entry, expectedSize: nil), await writer.write(body) else {
            return false
        }
        return await writer.commit()
    }

    private func isThere(_ url: String, in store: MemoryCacheStore) async -> Bool {
        await !store.entries(for: CacheKey(url: url)).isEmpty
    }

    private func use(_ url: String, in store: MemoryCacheStore) async {
        for found in await store.entries(for: CacheKey(url: url)) { _ = await found.body.reader(of: 0..<1) }
    }

    @Test func entryIsNotVisibleBeforeCommit() async throws {
        let store = MemoryCacheStore()
        let writer = try #require(await store.writer(for: entry("a"), expectedSize: 3))
        #expect(await writer.write(Data("abc".utf8)))
        #expect(await store.entries(for: CacheKey(url: "a")).isEmpty)
        #expect(await writer.commit())
        let found = try #require(await store.entries(for: CacheKey(url: "a")).first)
        #expect(found.body.size == 3)
        #expect(try await found.body.reader(of: 1..<3)?.next() == Data("bc".utf8))
    }

    @Test func leastRecentlyUsedEntryIsEvictedFirst() async {
        let store = MemoryCacheStore(maximumSize: 3 * Self.cost, maximumEntrySize: Self.cost)
        for url in ["a", "b", "c"] { await put(entry(url), in: store) }
        await use("a", in: store)
        await put(entry("d"), in: store)
        #expect(await isThere("a", in: store))
        #expect(await !isThere("b", in: store))
        #expect(await isThere("c", in: store))
        #expect(await store.size() == Int64(3 * Self.cost))
    }

    @Test func scanDoesNotEvictUsedEntries() async {
        let store = MemoryCacheStore(maximumSize: 10 * Self.cost, maximumEntrySize: Self.cost)
        for url in ["a", "b", "c"] {
            await put(entry(url), in: store)
            await use(url, in: store)
        }
        for number in 0..<100 { await put(entry("scan\(number)"), in: store) }
        for url in ["a", "b", "c"] { #expect(await isThere(url, in: store)) }
        #expect(store.count == 10)
    }

    @Test func entryUsedOnceIsEvictedEventually() async {
        let store = MemoryCacheStore(maximumSize: 10 * Self.cost, maximumEntrySize: Self.cost)
        await put(entry("old"), in: store)
        await use("old", in: store)
        for number in 0..<20 {
            await put(entry("new\(number)"), in: store)
            await use("new\(number)", in: store)
        }
        #expect(await !isThere("old", in: store))
        #expect(store.count == 10)
    }

    @Test func newVariantReplacesOnlyItself() async {
        let store = MemoryCacheStore()
        await put(entry("a", variant: "x", id: "1"), in: store)
        await put(entry("a", variant: "y", id: "2"), in: store)
        await put(entry("a", variant: "x", id: "3"), in: store)
        let ids = await store.entries(for: CacheKey(url: "a")).map(\.entry.id).sorted()
        #expect(ids == ["2", "3"])
        #expect(await store.size() == Int64(2 * Self.cost))
    }

    @Test func theVariantsOfAKeyAreBounded() async {
        let store = MemoryCacheStore()
        for number in 0..<100 {
            await put(entry("a", variant: "\(number)"), in: store)
            // The first variant is used again and again.
            for found in await store.entries(for: CacheKey(url: "a")) where found.entry.variant == "0" {
                _ = await found.body.reader(of: 0..<1)
            }
        }
        await put(entry("b"), in: store)
        let most = Variants.maximumPerKey
        let variants = await store.entries(for: CacheKey(url: "a")).map(\.entry.variant)
        #expect(most == 16 && variants == ["0"] + (100 - most + 1..<100).map { "\($0)" })
        #expect(store.count == most + 1)
        #expect(await store.size() == Int64((most + 1) * Self.cost))
    }

    @Test func replacedVariantEvictsNoOther() async {
        let store = MemoryCacheStore()
        for number in 0..<Variants.maximumPerKey { await put(entry("a", variant: "\(number)"), in: store) }
        await put(entry("a", variant: "3", id: "new"), in: store)
        #expect(store.count == Variants.maximumPerKey)
        let found = await store.entries(for: CacheKey(url: "a")).map(\.entry)
        #expect(found.contains { $0.variant == "0" } && found.contains { $0.id == "new" })
    }

    @Test func updateAndRemovalAffectOneResponse() async {
        let store = MemoryCacheStore()
        await put(entry("a", id: "1"), in: store)
        var updated = entry("a", id: "1")
        updated.response.head.status = 203
        await store.update(updated)
        #expect(await store.entries(for: CacheKey(url: "a")).first?.entry.response.head.status == 203)
        var other = entry("a", id: "2")
        other.response.head.status = 204
        await store.update(other)
        await store.remove(other)
        #expect(await store.entries(for: CacheKey(url: "a")).first?.entry.response.head.status == 203)
        await store.remove(updated)
        #expect(await store.size() == 0)
    }

    private func larger(_ url: String, by size: Int) -> CacheEntry {
        var updated = entry(url)
        // Each field costs 64 bytes in addition to its name and its value.
        updated.response.head.headers = ["X": String(repeating: "x", count: size - 65)]
        return updated
    }

    @Test(arguments: [false, true]) func sizeIncludesFieldsOfUpdatedEntry(isUsed: Bool) async {
        let store = MemoryCacheStore(maximumSize: 4 * Self.cost, maximumEntrySize: Self.cost)
        for url in ["a", "b", "c"] { await put(entry(url), in: store) }
        if isUsed { await use("c", in: store) }
        await store.update(larger("c", by: 500))
        #expect(await store.size() == Int64(3 * Self.cost + 500))
        #expect(store.count == 3)
        // This leaves room for only one of the others.
        await store.update(larger("c", by: 1500))
        #expect(await store.size() == Int64(2 * Self.cost + 1500))
        #expect(await !isThere("a", in: store))
        await store.update(entry("c"))
        #expect(await store.size() == Int64(2 * Self.cost))
        for url in ["b", "c"] { await store.remove(entry(url)) }
        #expect(await store.size() == 0)
    }

    @Test func onlyTheEntryGrownTooLargeIsEvicted() async {
        let store = MemoryCacheStore(maximumSize: 4 * Self.cost, maximumEntrySize: Self.cost)
        for url in ["a", "b", "c"] { await put(entry(url), in: store) }
        await store.update(larger("c", by: 4 * Self.cost))
        #expect(await !isThere("c", in: store))
        #expect(await store.size() == Int64(2 * Self.cost))
        // Used entries may occupy at most four fifths of the store, even if one of them grows by an update.
        await use("a", in: store)
        await store.update(larger("a", by: 2 * Self.cost + 500))
        await put(entry("d"), in: store)
        #expect(await !isThere("a", in: store))
    }

    @Test func entriesAreRemovedByURLOrOrigin() async {
        let store = MemoryCacheStore()
        for url in ["http://a/1", "http://a/2", "http://a.b/1"] {
            await put(entry(url), in: store)
            await put(entry(url, partition: "p"), in: store)
        }
        await store.removeAll(url: "http://a/1")
        #expect(store.count == 4)
        await store.removeAll(origin: "http://a/")
        #expect(store.count == 2)
        await store.removeAll()
        #expect(await store.size() == 0)
    }

    @Test func bodyAboveEntryLimitIsNotStored() async throws {
        let store = MemoryCacheStore(maximumSize: 10_000, maximumEntrySize: 4000)
        #expect(await store.writer(for: entry("a"), expectedSize: 4001) == nil)
        let writer = try #require(await store.writer(for: entry("a"), expectedSize: nil))
        #expect(await writer.write(Data(count: 4000)))
        #expect(await !writer.write(Data(count: 1)))
        await writer.drop()
        #expect(store.count == 0)
    }

    @Test func replacedBodyCanBeReadToItsEnd() async throws {
        let store = MemoryCacheStore()
        await put(entry("a", id: "1"), in: store)
        let found = try #require(await store.entries(for: CacheKey(url: "a")).first)
        await store.removeAll()
        let reader = try #require(await found.body.reader(of: 0..<found.body.size))
        #expect(try await reader.next()?.count == Int(found.body.size))
    }

    /// The entries form a linked list. Releasing its head must not release the rest recursively, which would overflow
    /// the stack.
    @Test(arguments: [false, true])
    func aHundredThousandEntriesAreReleased(byRemoving: Bool) async {
        var store: MemoryCacheStore? = MemoryCacheStore(maximumSize: 1 << 30)
        for number in 0..<100_000 {
            let writer = await store?.writer(for: entry("http://a.test/\(number)"), expectedSize: 0)
            _ = await writer?.commit()
        }
        #expect(store?.count == 100_000)
        if byRemoving { await store?.removeAll() }
        store = nil
    }
}
