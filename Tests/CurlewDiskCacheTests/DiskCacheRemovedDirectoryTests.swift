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
        // Acts as another process in the middle of a change, for which the work of the next store's opening waits.
        var writer: Database? = try Database(path: folder.index.path(percentEncoded: false), patience: .seconds(2))
        try writer?.execute("BEGIN IMMEDIATE")
        store = try folder.open()
        #expect(try await store?.body(entry("a").key) == bytes(100))
        store = nil
        try FileManager.default.removeItem(at: folder.cache)
        try writer?.execute("COMMIT")
        writer = nil
        // The store's connections close once its lanes have no work left.
        #expect(try await eventually { try folder.openFiles() == 0 })
        #expect(!FileManager.default.fileExists(atPath: folder.cache.path(percentEncoded: false)))
    }
}
