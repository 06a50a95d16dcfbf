internal import CurlewCore
internal import Foundation
internal import Glibc

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
