internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What a finished file may be read and written by: what `open` with mode 0666 would have given.
enum FilePermissions {
    /// Asking `umask(2)` means changing it for every thread for a moment, so the kernel's own account of
    /// it is read instead. Where there is none the file stays private.
    static func ofNewFile() -> mode_t {
        guard let mask = currentMask() else { return 0o600 }
        return 0o666 & ~mask
    }

    static func currentMask() -> mode_t? {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
        return mask(inStatus: status)
    }

    static func mask(inStatus status: String) -> mode_t? {
        for line in status.split(separator: "\n") where line.hasPrefix("Umask:") {
            return mode_t(line.dropFirst(6).trimmingPrefix(while: \.isWhitespace), radix: 8)
        }
        return nil
    }
}
