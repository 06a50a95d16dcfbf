import CurlewTesting
import Foundation
import Glibc

/// A file system of one megabyte. Mounting it requires root.
enum SmallDisk {
    /// Without the right to mount, the tests are skipped with a message; in continuous integration they run regardless.
    static let isAvailable: Bool = {
        if ProcessInfo.processInfo.environment["CI"] == "true" { return true }
        do {
            let probe = try ScratchDirectory()
            try mount(at: probe.path)
            unmount(probe.path)
            return true
        } catch {
            print("SKIPPED: full disks need root, to mount a file system of one megabyte: \(error)")
            return false
        }
    }()

    static func mount(at path: String) throws {
        guard Glibc.mount("curlew", path, "tmpfs", 0, "size=1m") == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
        }
    }

    static func unmount(_ path: String) { umount2(path, 2) }
}
