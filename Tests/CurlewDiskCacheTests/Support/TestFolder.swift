import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc
import StoreSupport

/// A directory that is removed with its last reference.
final class TestFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "curlew-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var cache: URL { url.appending(path: "cache") }
    var index: URL { cache.appending(path: "index.sqlite") }
    var bodies: URL { cache.appending(path: "bodies") }

    func bodyNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bodies.path(percentEncoded: false))
    }

    /// Returns how many bodies this process has open.
    func openBodies() throws -> Int { try openFiles(below: "/cache/bodies/") }

    /// Returns how many files below `path` this process has open, including removed ones.
    func openFiles(below path: String = "/cache/") throws -> Int {
        // The links in /proc are resolved paths, so only the part from the test's folder is compared.
        let begin = "/" + url.lastPathComponent + path
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + descriptor)
            return file?.contains(begin) == true
        }
    }

    /// Mounts a file system of three megabytes at the place of the cache. Returns false, with a message, if this
    /// process cannot mount one; in continuous integration that is an error.
    func mountSmallDisk() throws -> Bool {
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        let path = cache.path(percentEncoded: false)
        if mount("tmpfs", path, "tmpfs", 0, "size=3m,mode=0700") == 0 { return true }
        let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
        if ProcessInfo.processInfo.environment["CI"] == "true" { throw error }
        print("SKIPPED: a full disk needs a file system of three megabytes: \(error)")
        return false
    }

    func unmountSmallDisk() { umount2(cache.path(percentEncoded: false), Int32(MNT_DETACH)) }

    func open(
        maximumSize: Int64 = 512 << 20,
        maximumEntrySize: Int64 = 64 << 20,
        lockPatience: Duration = .seconds(5),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws -> DiskCacheStore {
        try DiskCacheStore(
            directory: cache,
            maximumSize: maximumSize,
            maximumEntrySize: maximumEntrySize,
            lockPatience: lockPatience,
            now: now
        )
    }

    /// Returns the size of all files in bytes.
    func sizeOnDisk() throws -> Int {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: cache.path(percentEncoded: false))
        return paths.reduce(0) { sum, path in
            // A file may be removed after it was listed.
            let file = cache.appending(path: path)
            guard let values = try? file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey]) else { return sum }
            return sum + (values.isRegularFile == true ? values.fileSize ?? 0 : 0)
        }
    }
}

/// Makes entries that have expired. A store keeps them until it needs their space.
let entry = EntryMaker { Date(timeIntervalSince1970: 1_700_000_000) }

/// Runs blocking work in a new thread. The tests share as many cooperative threads as there are processors, so on a
/// small machine two blocked threads would stop all tests.
func inOwnThread<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { answer in
        Thread.detachNewThread { answer.resume(returning: work()) }
    }
}
