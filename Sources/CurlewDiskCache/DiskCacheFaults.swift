internal import CurlewCore
internal import CurlewLocks
internal import Foundation
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

/// An error of the system or SQLite that affects the whole store.
struct SystemFault: Error {
    let code: CurlewError.Code
    let text: String
    let underlying: (any Error)?
    /// Whether the index is damaged, rather than unreachable.
    var isDamage = false
    /// Whether another process holds the folder's lock.
    private(set) var isLockedOut = false

    init(errno number: Int32) {
        text = String(cString: strerror(number))
        underlying = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        switch number {
        case ENOSPC, EDQUOT, EFBIG: code = .diskFull
        case ENOENT, ENOTDIR: code = .destinationMissing
        default: code = .moveFailed
        }
    }

    /// Another process held the folder's lock for all of `patience`.
    static func lockedOut(_ patience: Duration) -> SystemFault {
        SystemFault(lockedOut: "another process has held its lock for \(patience)")
    }

    /// Another user may have created or changed the files.
    static func untrusted(_ text: String) -> SystemFault { SystemFault(untrusted: text) }

    private init(untrusted text: String) {
        self.text = text
        code = .moveFailed
        underlying = POSIXError(.EPERM)
    }

    private init(lockedOut text: String) {
        self.text = text
        code = .moveFailed
        underlying = POSIXError(.EWOULDBLOCK)
        isLockedOut = true
    }

    init(_ fault: DatabaseFault) {
        code = fault.isFullDisk ? .diskFull : .moveFailed
        text = "SQLite: \(fault)"
        underlying = nil
        isDamage = fault.isDamage
    }

    func error(_ folder: CacheFolder) -> CurlewError {
        CurlewError(
            code,
            phase: .file,
            reason: "The cache in \(folder.path) cannot be opened for writing: \(text)",
            underlying: underlying
        )
    }
}
