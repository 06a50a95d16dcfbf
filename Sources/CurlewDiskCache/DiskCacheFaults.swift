internal import CurlewLocks
internal import Glibc

/// How often something went wrong in a disk cache since it was opened. To its users each of these was a miss.
public struct DiskCacheFaults: Sendable, Equatable {
    /// The index was damaged and was begun anew, empty. Each time the process also writes a line to its standard error.
    public var rebuiltIndexes = 0
    /// Entries that did not agree with their checksums, or had lost their body, and were removed.
    public var damagedEntries = 0
    /// Entries that could not be stored: no room on the disk, no permission any more, an input or output error.
    public var failedWrites = 0
    /// Lookups that SQLite could not answer, and bodies that the system did not open or read, for want of descriptors or
    /// memory for example.
    public var failedReads = 0

    package init() {}
}

/// Counts them.
struct FaultCounts: Sendable {
    private let counts = Lock(DiskCacheFaults())

    var current: DiskCacheFaults { counts.withLock { $0 } }

    func count(_ member: WritableKeyPath<DiskCacheFaults, Int>) { counts.withLock { $0[keyPath: member] += 1 } }

    func countRebuilt(_ folder: CacheFolder, _ reason: String) {
        count(\.rebuiltIndexes)
        say("Curlew: the cache index in \(folder.path) was damaged (\(reason)) and has been made anew, empty.\n")
    }

    /// A lane cannot use the cache until that is over.
    func report(_ folder: CacheFolder, _ reason: String) {
        say("Curlew: the cache in \(folder.path) is not used for now: \(reason).\n")
    }

    private func say(_ line: String) {
        _ = line.withCString { write(2, $0, strlen($0)) }
    }
}
