import CurlewCore
import CurlewDiskCache
import Foundation
import StoreSupport
import Testing

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

    @Test("no store is made among files of others", arguments: ["index.sqlite", "notes.txt"], [true, false])
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

    @Test("a file is no directory") func file() throws {
        try Data().write(to: folder.cache)
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache) }
        #expect(error?.code == .destinationExists)
        #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache.appending(path: "below")) }
    }

    @Test("what a file system, and a store that was not finished, leave there is not in the way")
    func emptyEnough() async throws {
        for name in ["lost+found", "bodies"] {
            try FileManager.default.createDirectory(
                at: folder.cache.appending(path: name), withIntermediateDirectories: true)
        }
        let store = try DiskCacheStore(directory: folder.cache)
        #expect(await store.put(entry("a"), bytes(100)))
    }

    @Test("a store that is there is opened, also beside other files") func existing() async throws {
        #expect(try await folder.open().put(entry("a"), bytes(100)))
        try write("notes.txt")
        let store = try DiskCacheStore(directory: folder.cache, create: false)
        #expect(try await store.body(entry("a").key) == bytes(100))
        #expect(store.faults == DiskCacheFaults())
    }

    @Test("a store that is not there is not made", arguments: [true, false]) func missing(hasDirectory: Bool) throws {
        if hasDirectory {
            try FileManager.default.createDirectory(at: folder.cache, withIntermediateDirectories: true)
        }
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache, create: false) }
        #expect(error?.code == .destinationMissing)
        #expect(FileManager.default.fileExists(atPath: folder.cache.path(percentEncoded: false)) == hasDirectory)
        if hasDirectory { #expect(try names.isEmpty) }
    }
}
