import CurlewCore
import CurlewLocks
import Foundation
import StoreSupport
import Testing
@testable import CurlewDiskCache

@Suite("The directory of a disk cache")
struct DiskCacheDirectoryTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.cache.path(percentEncoded: false)) }
    }

    private func write(_ name: String) throws {
        try FileManager.default.createDirectory(at: folder.cache, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: folder.cache.appending(path: name))
    }

    @Test(
        "a directory with files of other programs is refused and left unchanged",
        arguments: ["index.sqlite", "notes.txt"], [true, false])
    func files(of name: String, creates: Bool) throws {
        try write(name)
        let error = #expect(throws: CurlewError.self) {
            try DiskCacheStore(directory: folder.cache, create: creates)
        }
        #expect(error?.code == .destinationExists)
        #expect(error?.reason.contains("has files that no cache has made") == true)
        #expect(try names == [name])
        #expect(try Data(contentsOf: folder.cache.appending(path: name)) == Data("mine".utf8))
    }

    @Test("a file in the place of the directory is refused") func file() throws {
        try Data().write(to: folder.cache)
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache) }
        #expect(error?.code == .destinationExists)
        #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache.appending(path: "below")) }
    }

    @Test("a directory with only lost+found and a bodies folder is accepted")
    func emptyEnough() async throws {
        for name in ["lost+found", "bodies"] {
            try FileManager.default.createDirectory(
                at: folder.cache.appending(path: name), withIntermediateDirectories: true)
        }
        let store = try DiskCacheStore(directory: folder.cache)
        #expect(await store.put(entry("a"), bytes(100)))
    }

    @Test("an existing store is opened, also beside other files") func existing() async throws {
        #expect(try await folder.open().put(entry("a"), bytes(100)))
        try write("notes.txt")
        let store = try DiskCacheStore(directory: folder.cache, create: false)
        #expect(try await store.body(entry("a").key) == bytes(100))
        #expect(store.faults == DiskCacheFaults())
    }

    @Test(
        "a missing store is an error without create, and nothing is created", arguments: [true, false])
    func missing(hasDirectory: Bool) throws {
        if hasDirectory {
            try FileManager.default.createDirectory(at: folder.cache, withIntermediateDirectories: true)
        }
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache, create: false) }
        #expect(error?.code == .destinationMissing)
        #expect(FileManager.default.fileExists(atPath: folder.cache.path(percentEncoded: false)) == hasDirectory)
        if hasDirectory { #expect(try names.isEmpty) }
    }
}

@Suite("A disk cache whose directory is removed")
struct DiskCacheRemovedDirectoryTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test("a store that is cleared after the removal stores entries again") func clearing() async throws {
        let store = try folder.open()
        #expect(await store.put(entry("a"), bytes(100)))
        try FileManager.default.removeItem(at: folder.cache)
        await store.removeAll()
        #expect(await store.entries(for: entry("a").key).isEmpty)
        #expect(await store.put(entry("a"), bytes(20_000)))
        #expect(try await store.body(entry("a").key) == bytes(20_000))
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("a released store does not create its directory again") func ended() async throws {
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

@Suite("Entries that are replaced while they are looked up")
struct DiskCacheReplacementTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A lookup first reads the rows and then opens their files. In between, another store may replace an entry and
    /// remove its file.
    @Test("an entry whose file is removed after its row was read is not counted as damaged", arguments: [1, 2])
    func replacedMeanwhile(variants: Int) async throws {
        let (writing, reading) = (try folder.open(), try folder.open())
        let key = entry("a").key
        let isWriting = Lock(true)
        async let stored = {
            defer { isWriting.withLock { $0 = false } }
            var stored = 0
            for round in 0..<1_000 {
                let entry = entry("a", variant: "v\(round % variants)")
                if await writing.put(entry, bytes(20_000)) { stored += 1 }
            }
            return stored
        }()
        var read = 0
        while isWriting.withLock({ $0 }) {
            // A lookup of a known key does not suspend. On two cores the two cases of this test would leave no thread to
            // the writers.
            await Task.yield()
            for found in await reading.entries(for: key) {
                guard let body = try await found.body.whole() else { continue }
                #expect(body == bytes(20_000))
                read += 1
            }
        }
        #expect(await stored == 1_000)
        #expect(read > 0)
        #expect(await reading.entries(for: key).count == variants)
        // The update runs after the work that the last misses have queued.
        await reading.update(entry("a"))
        #expect(reading.faults == DiskCacheFaults())
    }
}
