import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Glibc
import StoreSupport
import Testing
@testable import CurlewDiskCache

@Suite("Bodies without an entry")
struct DiskCacheOrphanTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test("the bodies of an index that was replaced while the store was open are deleted")
    func replacedWhileOpen() async throws {
        let store = try folder.open()
        // More bodies than a collection checks in one turn.
        for number in 0..<70 { #expect(await store.put(entry("\(number)"), bytes(20_000))) }
        try FileManager.default.removeItem(at: folder.index)
        // A lookup creates the new index.
        #expect(await store.entries(for: entry("0").key).isEmpty)
        let kept = entry("kept")
        #expect(await store.put(kept, bytes(20_000)))
        #expect(try await eventually { try folder.bodyNames() == [kept.id] })
        #expect(try await store.body(kept.key) == bytes(20_000))
    }

    /// The old index is that of a lane that opened its file before another process replaced it.
    @Test("a collection with a replaced index keeps the bodies of the new index")
    func oldIndex() throws {
        let cache = CacheFolder(folder.cache)
        try cache.make()
        let old = try CacheIndex(cache, patience: .seconds(2))
        cache.removeIndex()
        let new = try CacheIndex(cache, patience: .seconds(2))
        let (stored, orphan) = (entry("a"), entry("b"))
        let ids = try [stored, orphan].map { try #require(EntryID($0.id)) }
        for id in ids { try bytes(100).write(to: URL(filePath: cache.body(id))) }
        let row = IndexRow(id: ids[0], entry: stored, size: 100, isFile: true, bytes: Data())
        _ = try new.insert(row, use: 1, now: 1, maximumSize: 1 << 20)
        let lane = IndexLane("test", cache, FaultCounts(), lockPatience: .seconds(2))
        let collection = OrphanCollection(folder: cache, lane: lane)
        for id in ids { try collection.collect(id, old) }
        #expect(try folder.bodyNames().count == 2)
        for id in ids { try collection.collect(id, new) }
        #expect(try folder.bodyNames() == [stored.id])
    }

    @Test("a body that is stored while its index is replaced is stored whole, or not at all and its file is deleted")
    func replacedDuringInsertion() async throws {
        let isInserting = Gate()
        let store = try folder.open {
            isInserting.open()
            return Date()
        }
        let other = try folder.open()
        // Acts as another process in the middle of a change, for which the insertion waits.
        let writer = try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(2))
        try writer.execute("BEGIN IMMEDIATE")
        let stored = entry("a")
        async let isStored = store.put(stored, bytes(300_000))
        try await isInserting.wait()
        // After these calls the insertion has most likely begun to wait. If it has not, the new index gets the row.
        for _ in 0..<20 { _ = await other.size() }
        await other.removeAll()
        try writer.execute("COMMIT")
        let isThere = await isStored
        #expect(try await store.body(stored.key) == (isThere ? bytes(300_000) : nil))
        #expect(try await eventually { try folder.bodyNames() == (isThere ? [stored.id] : []) })
        #expect(store.faults.damagedEntries == 0 && other.faults == DiskCacheFaults())
    }

    @Test("clearing at any moment leaves as many bodies as entries") func clearing() async throws {
        let stores = [try folder.open(), try folder.open()]
        let entries = (0..<4).map { entry("\($0)") }
        for round in 0..<40 {
            await withTaskGroup(of: Void.self) { group in
                for entry in entries {
                    group.addTask { _ = await stores[round % 2].put(newer(entry), bytes(20_000)) }
                }
                group.addTask { await stores[round / 2 % 2].removeAll() }
            }
        }
        var found = 0
        for entry in entries {
            for stored in await stores[0].entries(for: entry.key) where try await stored.body.whole() != nil {
                found += 1
            }
        }
        #expect(try await eventually { try folder.bodyNames().count == found })
        for store in stores { #expect(store.faults == DiskCacheFaults()) }
    }

    /// Returns an entry with the key of `old` and another id.
    private func newer(_ old: CacheEntry) -> CacheEntry {
        CacheEntry(
            id: UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased(),
            key: old.key,
            response: old.response,
            lifetime: old.lifetime
        )
    }
}

@Suite("A body's file while orphans are collected")
struct BodyCreationTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(at: folder.bodies, withIntermediateDirectories: true)
    }

    /// Another store or process may look for orphans at any moment, even between the creation of a file and its lock.
    /// It looks at each name once.
    @Test("a new body file is not collected before it is closed") func creationAndCollection() async throws {
        let path = folder.bodies.appending(path: "body").path(percentEncoded: false)
        #expect(await inOwnThread { Self.lost(of: 2_000, path) } == 0)
    }

    /// Creates the file `rounds` times, and counts how often it is removed before it is closed.
    private static func lost(of rounds: Int, _ path: String) -> Int {
        let round = Lock(0)
        let collector = Thread {
            var last = -1
            while case let now = round.withLock({ $0 }), now < rounds {
                guard now != last else {
                    sched_yield()
                    continue
                }
                guard let body = UnusedBody(path) else { continue }
                body.remove()
                last = now
            }
        }
        collector.start()
        defer { round.withLock { $0 = rounds } }
        var lost = 0
        for number in 0..<rounds {
            round.withLock { $0 = number }
            // The collector may be preempted while it holds the lock.
            let file = NewBodyFile(path, expectedSize: nil, patience: .seconds(30))
            if file == nil || access(path, F_OK) != 0 { lost += 1 }
            file?.close(isKept: false)
        }
        return lost
    }
}
