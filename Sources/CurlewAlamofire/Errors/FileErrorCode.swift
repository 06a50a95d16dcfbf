internal import Curlew
internal import Foundation

/// Maps errors of the file system to codes.
enum FileErrorCode {
    static func of(_ error: any Error) -> CurlewError.Code {
        if let code = (error as? CocoaError)?.code {
            switch code {
            case .fileWriteFileExists: return .destinationExists
            case .fileNoSuchFile, .fileReadNoSuchFile: return .destinationMissing
            case .fileWriteOutOfSpace: return .diskFull
            default: break
            }
        }
        switch posixCode(of: error) {
        case .EEXIST?, .ENOTEMPTY?: return .destinationExists
        case .ENOENT?, .ENOTDIR?: return .destinationMissing
        case .ENOSPC?, .EDQUOT?, .EFBIG?: return .diskFull
        default: return .moveFailed
        }
    }

    private static func posixCode(of error: any Error) -> POSIXErrorCode? {
        if let posix = error as? POSIXError { return posix.code }
        return ((error as NSError).userInfo[NSUnderlyingErrorKey] as? POSIXError)?.code
    }
}
