internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The permissions of a finished file, as `open` with mode 0666 would set them.
enum FilePermissions {
    /// The mode of a new file under the process's umask. umask(2) cannot read the mask without changing it for all
    /// threads for a moment, so it is read from `/proc/self/status`. Without that the file stays private.
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
