import CurlewCore
import CurlewDiskCache
import CurlewLocks
import Foundation
import Glibc
import StoreSupport
import Testing

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

    @Test("an opening is an error that says so") func opening() async throws {
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
