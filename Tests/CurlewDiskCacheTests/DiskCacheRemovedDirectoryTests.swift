import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewDiskCache

@Suite("A disk cache whose directory is removed")
struct DiskCacheRemovedDirectoryTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test("a store that is cleared afterwards goes on") func clearing() async throws {
        let store = try folder.open()
        #expect(await store.put(entry("a"), bytes(100)))
        try FileManager.default.removeItem(at: folder.cache)
        await store.removeAll()
        #expect(await store.entries(for: entry("a").key).isEmpty)
        #expect(await store.put(entry("a"), bytes(20_000)))
        #expect(try await store.body(entry("a").key) == bytes(20_000))
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("a store that has gone does not make it anew") func ended() async throws {
        var store: DiskCacheStore? = try folder.open()
        #expect(await store?.put(entry("a"), bytes(100)) == true)
        // As another process that is in the middle of a change: what the next store has to do at its opening waits for it.
        var writer: Database? = try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(2))
        try writer?.execute("BEGIN IMMEDIATE")
        store = try folder.open()
        #expect(try await store?.body(entry("a").key) == bytes(100))
        store = nil
        try FileManager.default.removeItem(at: folder.cache)
        try writer?.execute("COMMIT")
        writer = nil
        // Its connections are closed when its lanes have nothing left to do.
        #expect(try await eventually { try folder.openFiles() == 0 })
        #expect(!FileManager.default.fileExists(atPath: folder.cache.path(percentEncoded: false)))
    }
}
