internal import CurlewCore
internal import Glibc

/// Names and causes of errno values.
enum SystemError {
    static func native(_ code: Int32) -> CurlewError.NativeCode {
        CurlewError.NativeCode(number: Int(code), name: strerrorname(code))
    }

    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Whether the process or the system has run out of a resource, independent of the address.
    static func isShortage(_ code: Int32) -> Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }

    /// Returns EMFILE or ENFILE if fewer than `count` descriptors can be opened, 0 otherwise. A resolver does not
    /// report that it failed for lack of a descriptor.
    static func descriptorShortage(of count: Int = 1) -> Int32 {
        var probes: [Int32] = []
        defer { for probe in probes { close(probe) } }
        while probes.count < count {
            let probe = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            guard probe >= 0 else { return errno == EMFILE || errno == ENFILE ? errno : 0 }
            probes.append(probe)
        }
        return 0
    }

    /// Returns the error for something that could not be made for lack of a descriptor; `nil` if descriptors are
    /// available.
    static func shortage(_ phase: CurlewError.Phase) -> CurlewError? {
        let code = descriptorShortage()
        guard code != 0 else { return nil }
        return CurlewError(
            .connectFailed,
            phase: phase,
            reason: "no descriptor: \(text(code))",
            native: native(code)
        )
    }

    private static func strerrorname(_ code: Int32) -> String {
        switch code {
        case EACCES: "EACCES"
        case EADDRINUSE: "EADDRINUSE"
        case EADDRNOTAVAIL: "EADDRNOTAVAIL"
        case ECONNREFUSED: "ECONNREFUSED"
        case ECONNRESET: "ECONNRESET"
        case EHOSTUNREACH: "EHOSTUNREACH"
        case EINVAL: "EINVAL"
        case EIO: "EIO"
        case EISDIR: "EISDIR"
        case ELOOP: "ELOOP"
        case EMFILE: "EMFILE"
        case ENAMETOOLONG: "ENAMETOOLONG"
        case ENETUNREACH: "ENETUNREACH"
        case ENFILE: "ENFILE"
        case ENOBUFS: "ENOBUFS"
        case ENOENT: "ENOENT"
        case ENOMEM: "ENOMEM"
        case ENOTDIR: "ENOTDIR"
        case EPERM: "EPERM"
        case EPIPE: "EPIPE"
        case ETIMEDOUT: "ETIMEDOUT"
        default: "errno"
        }
    }
}
