import CurlewCore
import Foundation
import Glibc
import StoreSupport
import Testing

@testable import CurlewDiskCache

@Suite("Removals that fail in a disk cache")
struct DiskCacheFailedRemovalTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let removals: [@Sendable (DiskCacheStore, CacheEntry) async -> Void] = [
        { await $0.remove($1) },
        { await $0.removeAll(url: $1.key.url) },
        { await $0.removeAll(origin: $1.key.origin) },
    ]

    @Test(
        "an entry whose removal failed is a miss, and is removed once the index can be changed",
        arguments: removals.indices)
    func busy(removal: Int) async throws {
        let store = try folder.open(lockPatience: .milliseconds(200))
        let (stale, other) = (entry("a", origin: "http://stale.test"), entry("b"))
        for entry in [stale, other] { #expect(await store.put(entry, bytes(100))) }
        // Acts as another process in the middle of a change.
        let writer = try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(2))
        try writer.execute("BEGIN IMMEDIATE")
        await Self.removals[removal](store, stale)
        for _ in 0..<2 { #expect(await store.entries(for: stale.key).isEmpty) }
        #expect(await store.entries(for: other.key).count == 1)
        let fresh = entry("a", origin: "http://stale.test", variant: "v")
        #expect(await !store.put(fresh, bytes(200)))
        try writer.execute("COMMIT")
        #expect(try await eventually { await store.put(fresh, bytes(200)) })
        #expect(await store.entries(for: stale.key).map(\.entry) == [fresh])
        let later = try folder.open()
        #expect(
            try await eventually {
                // Each use of the store repeats the failed removal.
                _ = await store.entries(for: other.key)
                return await later.entries(for: stale.key).map(\.entry) == [fresh]
            })
        #expect(await later.entries(for: other.key).count == 1)
    }

    @Test("a cache whose clearing failed finds nothing until it has been cleared") func clearing() async throws {
        let store = try folder.open(lockPatience: .milliseconds(20))
        #expect(await store.put(entry("a"), bytes(100)))
        let lock = try FileHandle(forUpdating: folder.cache.appending(path: "lock"))
        try #require(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        await store.removeAll()
        #expect(await store.entries(for: entry("a").key).isEmpty)
        #expect(await !store.put(entry("b"), bytes(100)))
        try lock.close()
        #expect(try await eventually { await store.put(entry("b"), bytes(100)) })
        for store in [store, try folder.open()] {
            #expect(await store.entries(for: entry("a").key).isEmpty)
            #expect(try await store.body(entry("b").key) == bytes(100))
        }
    }
}
