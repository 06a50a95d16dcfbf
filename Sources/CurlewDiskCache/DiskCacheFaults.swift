internal import CurlewLocks
internal import Glibc

/// Counts of the faults of a disk cache since it was opened. Each fault was a miss for the users of the cache.
public struct DiskCacheFaults: Sendable, Equatable {
    /// The index was damaged and replaced by an empty one. The process also writes a line to its standard error each
    /// time.
    public var rebuiltIndexes = 0
    /// Entries that were removed because a checksum did not match or the body was missing.
    public var damagedEntries = 0
    /// Entries that could not be stored, updated or removed: the disk was full, permission was missing, or input or
    /// output failed.
    public var failedWrites = 0
    /// Lookups that SQLite could not answer, and bodies that the system could not open or read, for example because of
    /// too few descriptors or too little memory.
    public var failedReads = 0

    package init() {}
}

/// Counts the faults of a store. All its lanes share one.
struct FaultCounts: Sendable {
    private let counts = Lock(DiskCacheFaults())

    var current: DiskCacheFaults { counts.withLock { $0 } }

    func count(_ member: WritableKeyPath<DiskCacheFaults, Int>) { counts.withLock { $0[keyPath: member] += 1 } }

    func countRebuilt(_ folder: CacheFolder, _ reason: String) {
        count(\.rebuiltIndexes)
        say("Curlew: the cache index in \(folder.path) was damaged (\(reason)) and has been made anew, empty.\n")
    }

    /// Reports that a lane cannot use the cache until another process releases its lock.
    func report(_ folder: CacheFolder, _ reason: String) {
        say("Curlew: the cache in \(folder.path) is not used for now: \(reason).\n")
    }

    private func say(_ line: String) {
        _ = line.withCString { write(2, $0, strlen($0)) }
    }
}
