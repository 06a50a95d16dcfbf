import CurlewCore
import Foundation
import StoreProbe
import StoreSupport
import Testing

@testable import CurlewDiskCache

/// A store answers from memory while the index is unchanged. The neighbours here change it.
@Suite("Rows that a disk cache has read before")
struct DiskCacheKnownRowsTests {
    private let folder: TestFolder
    private let stored = entry("a")

    init() throws { folder = try TestFolder() }

    /// Looks the entry up twice: the second lookup needs no lock of the index.
    private func expectKnown(_ store: DiskCacheStore) async throws {
        for _ in 0..<2 { #expect(try await store.body(stored.key) == bytes(100)) }
    }

    private func connection() throws -> Database {
        try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(2))
    }

    @Test("a known row is found while another process has locked the index") func locked() async throws {
        let store = try folder.open(lockPatience: .milliseconds(200))
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
        let other = try connection()
        try other.execute("BEGIN EXCLUSIVE")
        try await expectKnown(store)
        #expect(store.faults == DiskCacheFaults())
        // The row of another key has to be read.
        #expect(await store.entries(for: entry("b").key).isEmpty)
        #expect(store.faults.failedReads == 1)
        try other.execute("ROLLBACK")
    }

    /// Whether a lookup has to read the index, which another process has locked.
    private func isRead(_ key: CacheKey, by store: DiskCacheStore) async throws -> Bool {
        let other = try connection()
        try other.execute("BEGIN EXCLUSIVE")
        let before = store.faults.failedReads
        _ = await store.entries(for: key)
        try other.execute("ROLLBACK")
        return store.faults.failedReads > before
    }

    @Test("a row that takes much memory is not kept") func large() async throws {
        let store = try folder.open(lockPatience: .milliseconds(200))
        var large = entry("large")
        large.response.head.headers = ["X-Large": String(repeating: "x", count: 70_000)]
        #expect(await store.put(large, bytes(100)))
        for _ in 0..<2 { #expect(await store.entries(for: large.key).map(\.entry) == [large]) }
        #expect(try await isRead(large.key, by: store))
    }

    @Test("a row is dropped once lookups of other keys fill the memory") func limited() async throws {
        let store = try folder.open(lockPatience: .milliseconds(200))
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
        #expect(try await !isRead(stored.key, by: store))
        let long = String(repeating: "x", count: 20_000)
        for number in 0..<500 { #expect(await store.entries(for: entry("\(number)\(long)").key).isEmpty) }
        #expect(try await isRead(stored.key, by: store))
    }

    private static let changes: [@Sendable (DiskCacheStore, CacheEntry) async -> Void] = [
        { store, _ in await store.put(entry("a"), bytes(200)) },
        { store, _ in await store.put(entry("a", variant: "v"), bytes(200)) },
        { store, _ in await store.put(entry("a"), bytes(20_000)) },
        { store, stored in
            var new = stored
            new.response.head.headers = ["X-New": "1"]
            await store.update(new)
        },
        { await $0.remove($1) },
        { await $0.removeAll(url: $1.key.url) },
        { await $0.removeAll(origin: $1.key.origin) },
        { store, _ in await store.removeAll() },
        { store, _ in
            await store.removeAll()
            await store.put(entry("a"), bytes(200))
        },
        // The store evicts the entry: these have more bytes than it keeps.
        { store, _ in for number in 0..<20 { await store.put(entry("b\(number)"), bytes(10_000)) } },
    ]

    @Test("the next lookup sees what another store has changed", arguments: changes.indices)
    func changed(change: Int) async throws {
        let (reading, writing) = (try folder.open(), try folder.open(maximumSize: 60_000))
        #expect(await writing.put(stored, bytes(100)))
        try await expectKnown(reading)
        await Self.changes[change](writing, stored)
        let found = await reading.entries(for: stored.key).map(\.entry)
        #expect(found != [stored])
        #expect(try await folder.open().entries(for: stored.key).map(\.entry) == found)
    }

    @Test("a change of another process is seen when it is complete, and not if it is rolled back")
    func incomplete() async throws {
        let store = try folder.open()
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
        let other = try connection()
        try other.execute("BEGIN IMMEDIATE; DELETE FROM entries")
        try await expectKnown(store)
        try other.execute("ROLLBACK")
        try await expectKnown(store)
        try other.execute("BEGIN IMMEDIATE; DELETE FROM entries")
        try await expectKnown(store)
        try other.execute("COMMIT")
        #expect(await store.entries(for: stored.key).isEmpty)
    }

    @Test("a known row is not found once its index has another name or none", arguments: [true, false])
    func moved(isRemoved: Bool) async throws {
        let store = try folder.open()
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
        if isRemoved {
            try FileManager.default.removeItem(at: folder.cache)
        } else {
            try FileManager.default.moveItem(at: folder.index, to: folder.url.appending(path: "moved"))
        }
        #expect(await store.entries(for: stored.key).isEmpty)
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
    }

    @Test("changes in an index that another program has switched to WAL are seen") func writeAheadLog() async throws {
        let store = try folder.open()
        #expect(await store.put(stored, bytes(100)))
        try await expectKnown(store)
        let other = try connection()
        try other.execute("PRAGMA journal_mode = WAL")
        _ = await store.entries(for: stored.key)
        try other.execute("DELETE FROM entries")
        #expect(await store.entries(for: stored.key).isEmpty)
    }

    @Test("a lookup finds the last entry that another process has stored, or a later one", .timeLimit(.minutes(4)))
    func lastStored() async throws {
        let probe = try Probe("put", folder.cache.path(percentEncoded: false), "1", "a")
        _ = await probe.lines(1)
        let store = try folder.open()
        let key = Sample(key: 0, size: 0, tag: "").entry.key
        var (last, found) = (0, 0)
        while last < 100 {
            last = try #require(await probe.lines(1).last)
            for _ in 0..<2 {
                // The file of a large body may have been removed between the reading of its row and its opening.
                guard let body = try await store.body(key) else { continue }
                // The probe's sizes tell the number of the entry.
                let words = String(decoding: body.prefix { $0 != 10 }, as: UTF8.self).split(separator: " ")
                let size = try #require(words.count == 3 ? Int(words[1]) : nil)
                #expect((size < 300_000 ? size : size - 300_000) >= last)
                found += 1
            }
        }
        await probe.kill()
        #expect(found > 0)
        #expect(store.faults.damagedEntries == 0)
    }
}
