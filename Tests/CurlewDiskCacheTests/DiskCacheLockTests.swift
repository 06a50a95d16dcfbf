import CurlewCore
import CurlewLocks
import Foundation
import Glibc
import StoreSupport
import Testing
@testable import CurlewDiskCache

@Suite("A disk cache whose lock another process keeps")
struct DiskCacheLockTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Holds the lock as another process would: for `flock`, each opening of the file is a separate holder.
    private func hold() throws -> FileHandle {
        let file = try FileHandle(forUpdating: folder.cache.appending(path: "lock"))
        try #require(flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        return file
    }

    /// Whether `work` ends while the lock is held. It runs in another task, because without a limit it would wait for
    /// the lock's end.
    private func ends(_ work: @escaping @Sendable () async -> Void) async throws -> Bool {
        let isOver = Lock(false)
        Task {
            await work()
            isOver.withLock { $0 = true }
        }
        return try await eventually { isOver.withLock { $0 } }
    }

    @Test("lookups are misses and nothing is stored, until the lock is free") func lockedOut() async throws {
        let store = try folder.open(lockPatience: .milliseconds(20))
        #expect(await store.put(entry("a"), bytes(100)))
        let lock = try hold()
        // Without the file, the store must open its connections again, which needs the lock.
        try FileManager.default.removeItem(at: folder.index)
        #expect(try await ends { _ = await store.entries(for: entry("a").key) })
        #expect(try await ends { _ = await store.put(entry("a"), bytes(100)) })
        #expect(try await ends { await store.removeAll() })
        try lock.close()
        // The lookup is the failed read; the put and the removal are the failed writes.
        #expect(store.faults.failedReads == 1 && store.faults.failedWrites == 2)
        #expect(try await eventually { await store.put(entry("a"), bytes(200)) })
        #expect(try await store.body(entry("a").key) == bytes(200))
    }

    @Test("opening the store throws an error that names the lock") func opening() async throws {
        _ = try folder.open()
        let lock = try hold()
        let thrown = Lock<CurlewError?>(nil)
        let folder = folder
        #expect(
            try await ends {
                do {
                    _ = try folder.open(lockPatience: .milliseconds(20))
                } catch {
                    thrown.withLock { $0 = error as? CurlewError }
                }
            })
        try lock.close()
        let error = try #require(thrown.withLock { $0 })
        #expect(error.code == .moveFailed)
        #expect("\(error)".contains("held its lock"))
    }
}

/// Between fork and exec, a starting process has copies of all descriptors, even of those that this process closes in
/// that time. Such a copy keeps a lock on its file.
@Suite("Locks on files whose descriptors a starting process has copied")
struct CopiedDescriptorTests {
    private let folder: TestFolder
    private let body: String

    init() throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(at: folder.bodies, withIntermediateDirectories: true)
        body = folder.bodies.appending(path: "body").path(percentEncoded: false)
    }

    /// Copies this process's descriptors of a file, as a starting process would.
    private func copies(of path: String) throws -> [FileHandle] {
        // The links in /proc are resolved paths, so only the part from the test's folder is compared.
        let name = try #require(path.firstRange(of: folder.url.lastPathComponent).map { path[$0.lowerBound...] })
        let opened = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { number in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
            return file?.hasSuffix("/" + name) == true
        }
        // Copies are made after the listing, because a copy may reuse the descriptor with which the folder was listed.
        return opened.compactMap { Int32($0) }.map { descriptor in
            FileHandle(fileDescriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 0), closeOnDealloc: true)
        }
    }

    private func isUnused(_ path: String) -> Bool {
        guard let body = UnusedBody(path) else { return false }
        _ = consume body
        return true
    }

    @Test("a stored body is unlocked even if a copy of its descriptor is open") func stored() throws {
        let file = try #require(NewBodyFile(body, expectedSize: nil))
        let copies = try copies(of: body)
        #expect(copies.count == 1 && !isUnused(body))
        file.release()
        file.close(isKept: true)
        #expect(isUnused(body))
        withExtendedLifetime(copies) {}
    }

    @Test("a body that a collector has checked is unlocked even if a copy of its descriptor is open")
    func lookedAt() throws {
        try Data().write(to: URL(filePath: body))
        guard let unused = UnusedBody(body) else { throw CocoaError(.fileNoSuchFile) }
        let copies = try copies(of: body)
        _ = consume unused
        #expect(copies.count == 1 && isUnused(body))
    }

    @Test("the lock of the directory is free after its use even if copies of its descriptor are open")
    func directory() throws {
        let cache = CacheFolder(folder.cache)
        var copies: [FileHandle] = []
        for _ in 0..<2 {
            try cache.locked(patience: .zero) { () throws(SystemFault) in
                copies += (try? self.copies(of: cache.path + "/lock")) ?? []
            }
        }
        #expect(copies.count >= 2)
    }

    @Test("a clearing removes the body of an entry that has just been stored") func clearing() async throws {
        let store = try folder.open()
        let stored = entry("a")
        let writer = try #require(await store.writer(for: stored, expectedSize: nil))
        #expect(await writer.write(bytes(300_000)))
        let copies = try copies(of: folder.bodies.appending(path: stored.id).path(percentEncoded: false))
        #expect(await writer.commit())
        await store.removeAll()
        #expect(try folder.bodyNames().isEmpty)
        #expect(copies.count == 1)
    }
}
