import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc
import StoreSupport
import Testing

@Suite("Ownership of a disk cache")
struct DiskCacheOwnershipTests {
    private let folder: TestFolder
    private static let names = [
        "", "bodies", "lock", "index.sqlite", "index.sqlite-journal", "index.sqlite-wal", "index.sqlite-shm",
    ]

    init() throws { folder = try TestFolder() }

    private func path(_ name: String) -> String {
        let cache = folder.cache.path(percentEncoded: false)
        return name.isEmpty ? cache : cache + "/" + name
    }

    private func prepare(_ name: String) async throws {
        #expect(try await folder.open().put(entry("a"), bytes(100)))
        // A closed store may have removed the files next to the index, so the test creates the named one.
        let descriptor = open(path(name), O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    private func expectRefusal(_ name: String, _ reason: String) {
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache) }
        #expect(error?.code == .moveFailed)
        #expect(error?.reason.contains(path(name)) == true && error?.reason.contains(reason) == true)
    }

    @Test("a file or directory of another user is refused", .enabled(if: geteuid() == 0), arguments: names)
    func owner(of name: String) async throws {
        try await prepare(name)
        // A process can inspect another user's directory only if its mode allows that.
        if name.isEmpty { try #require(chmod(path(name), 0o755) == 0) }
        try #require(chown(path(name), 65_534, 65_534) == 0)
        expectRefusal(name, "belongs to user 65534")
        try #require(chown(path(name), 0, 0) == 0)
        #expect(try await folder.open().entries(for: entry("a").key).count == 1)
    }

    @Test(
        "a file or folder that other users may write is refused", arguments: names.dropFirst(), [mode_t(0o020), 0o002])
    func mode(of name: String, bit: mode_t) async throws {
        try await prepare(name)
        try #require(chmod(path(name), 0o700 | bit) == 0)
        expectRefusal(name, "other users may write")
        try #require(chmod(path(name), name == "bodies" ? 0o755 : 0o644) == 0)
        #expect(try await folder.open().entries(for: entry("a").key).count == 1)
    }

    @Test("the write permission of other users on the directory is removed", arguments: [mode_t(0o775), 0o777, 0o1777])
    func closes(mode: mode_t) async throws {
        try await prepare("")
        try #require(chmod(path(""), mode) == 0)
        #expect(try await folder.open().entries(for: entry("a").key).count == 1)
        var status = stat()
        try #require(stat(path(""), &status) == 0)
        #expect(status.st_mode & 0o7777 == mode & ~0o022)
    }

    @Test(
        "a file that another user created in a writable directory is refused", .enabled(if: geteuid() == 0),
        arguments: names.dropFirst())
    func madeByOthers(name: String) async throws {
        try await prepare(name)
        try #require(chmod(path(""), 0o777) == 0 && chown(path(name), 65_534, 65_534) == 0)
        expectRefusal(name, "belongs to user 65534")
    }

    @Test("nothing is created in another user's directory", .enabled(if: geteuid() == 0)) func makesNothing() throws {
        try #require(mkdir(path(""), 0o755) == 0 && chown(path(""), 65_534, 65_534) == 0)
        expectRefusal("", "belongs to user 65534")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")).isEmpty)
    }

    @Test("a symbolic link in the place of a file is refused", arguments: names.dropFirst())
    func link(at name: String) async throws {
        try await prepare(name)
        let other = path(name) + "-other"
        try #require(rename(path(name), other) == 0 && symlink(other, path(name)) == 0)
        #expect(throws: CurlewError.self) { try DiskCacheStore(directory: folder.cache) }
    }

    @Test("a directory that is the user's own link is opened") func ownLink() async throws {
        let target = path("") + "-target"
        try #require(mkdir(target, 0o700) == 0 && symlink(target, path("")) == 0)
        #expect(try await folder.open().put(entry("a"), bytes(100)))
    }

    @Test(
        "another user's symbolic link is refused, also with a slash after its name", .enabled(if: geteuid() == 0),
        arguments: ["", "/", "//", "/."])
    func othersLink(end: String) throws {
        let target = path("") + "-target"
        try #require(mkdir(target, 0o700) == 0 && symlink(target, path("")) == 0)
        try #require(lchown(path(""), 65_534, 65_534) == 0)
        let directory = URL(filePath: path("") + end, directoryHint: end.isEmpty ? .notDirectory : .isDirectory)
        let error = #expect(throws: CurlewError.self) { try DiskCacheStore(directory: directory) }
        #expect(error?.reason.contains("is a symbolic link of user 65534") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
    }

    // Only root can change the owner of a file.
    @Test(
        "a body that other users may write, or that another user owns, is a miss",
        arguments: geteuid() == 0 ? [true, false] : [true])
    func body(byMode: Bool) async throws {
        let store = try folder.open()
        #expect(await store.put(entry("a"), bytes(100_000)))
        let names = try FileManager.default.contentsOfDirectory(atPath: path("bodies"))
        let body = path("bodies/" + (try #require(names.first)))
        try #require((byMode ? chmod(body, 0o666) : chown(body, 65_534, 65_534)) == 0)
        #expect(try await store.body(entry("a").key) == nil)
    }

    @Test(
        "a directory that another user has created in the place of the user's own is not used",
        .enabled(if: geteuid() == 0))
    func changedWhileOpen() async throws {
        let store = try folder.open()
        #expect(await store.put(entry("a"), bytes(100)))
        try FileManager.default.removeItem(at: folder.cache)
        try #require(mkdir(path(""), 0o755) == 0 && chown(path(""), 65_534, 65_534) == 0)
        #expect(await store.put(entry("b"), bytes(100)) == false)
        #expect(await store.entries(for: entry("b").key).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")).isEmpty)
    }
}
