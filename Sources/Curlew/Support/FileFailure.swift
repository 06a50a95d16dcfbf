internal import CurlewCore
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Maps error numbers of the system to Curlew's codes for files that are written.
enum FileFailure {
    /// `action` describes the operation, for example "writing". `path` is shown unchanged.
    static func error(_ number: Int32, _ action: String, _ path: String) -> CurlewError {
        let (code, cocoa) = classify(number)
        var error = CurlewError(
            code,
            phase: .file,
            reason: "\(action) \(path): \(String(cString: strerror(number)))",
            underlying: CocoaError(cocoa, userInfo: [NSFilePathErrorKey: path]),
            native: CurlewError.NativeCode(number: Int(number), name: name(of: number))
        )
        if code == .destinationExists {
            error.suggestion = "Choose another name, or replace the file with the option .removePreviousFile."
        }
        return error
    }

    /// The error for a directory at the destination. A directory is never replaced by a file.
    static func directoryInTheWay(_ path: String) -> CurlewError {
        var error = error(EISDIR, "moving the download to", path)
        error.reason = "moving the download to \(path): a directory of that name is in the way"
        return error
    }

    /// Curlew's code, and the underlying Cocoa error that code written for Alamofire may look for.
    static func classify(_ number: Int32) -> (CurlewError.Code, CocoaError.Code) {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: (.diskFull, .fileWriteOutOfSpace)
        case ENOENT, ENOTDIR: (.destinationMissing, .fileNoSuchFile)
        case EEXIST: (.destinationExists, .fileWriteFileExists)
        case EACCES, EPERM: (.moveFailed, .fileWriteNoPermission)
        case EROFS: (.moveFailed, .fileWriteVolumeReadOnly)
        case ENAMETOOLONG, EINVAL: (.moveFailed, .fileWriteInvalidFileName)
        default: (.moveFailed, .fileWriteUnknown)
        }
    }

    static func name(of number: Int32) -> String {
        switch number {
        case EACCES: "EACCES"
        case EBADF: "EBADF"
        case EDQUOT: "EDQUOT"
        case EEXIST: "EEXIST"
        case EFBIG: "EFBIG"
        case EINVAL: "EINVAL"
        case EIO: "EIO"
        case EISDIR: "EISDIR"
        case ELOOP: "ELOOP"
        case EMFILE: "EMFILE"
        case ENAMETOOLONG: "ENAMETOOLONG"
        case ENFILE: "ENFILE"
        case ENOENT: "ENOENT"
        case ENOSPC: "ENOSPC"
        case ENOTDIR: "ENOTDIR"
        case ENOTEMPTY: "ENOTEMPTY"
        case EPERM: "EPERM"
        case EROFS: "EROFS"
        case EXDEV: "EXDEV"
        default: "errno"
        }
    }
}
