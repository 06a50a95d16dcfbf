internal import CurlewCore
internal import Foundation
internal import Glibc

/// The file of a part, as it is found on disk. The path comes from resume data: it is untrusted input and must not give
/// access to any other file.
enum PartialFile {
    /// It is there. Until the file is released, no other download can continue it.
    case locked(OpenFile)
    /// Another download writes to it.
    case busy
    /// There is none, or it is not a download's.
    case gone
    /// It could not be opened, for instance because the process has too many open files.
    case unknown(CurlewError)

    /// Locks the file at `path`. Blocks.
    static func lock(_ path: String, isFromOutside: Bool) -> PartialFile {
        do throws(CurlewError) {
            guard let file = try open(path, isFromOutside: isFromOutside) else { return .gone }
            guard file.lockForWriting() else { return .busy }
            // Another download may have finished the file, and moved it, before it released the lock.
            return file.isInPlace() ? .locked(file) : .gone
        } catch {
            return error.isForeignPart ? .gone : .unknown(error)
        }
    }

    /// Opens the partial file at `path` for reading and writing. Returns `nil` if there is none. Throws
    /// `.resumeRejected`, without touching the file, if it is not as a download leaves it. The error has `native` if
    /// the system refused to open the file.
    ///
    /// With `isFromOutside` the file must still be private. Otherwise this process has created it itself, possibly on a
    /// file system that shows all files with the same permissions.
    static func open(_ path: String, isFromOutside: Bool) throws(CurlewError) -> OpenFile? {
        guard
            PartialFileName.isMade(
                path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex))
        else { throw rejected(path, "its name is none that Curlew gives") }
        let file: OpenFile
        do throws(CurlewError) { file = try OpenFile.existing(path) } catch {
            switch error.native?.number ?? 0 {
            case Int(ELOOP): throw rejected(path, "it is a symbolic link")
            case Int(EISDIR), Int(ENXIO): throw rejected(path, "it is no regular file")
            case Int(EACCES), Int(EPERM):
                var denied = rejected(path, "it may not be written to")
                denied.native = error.native
                throw denied
            case Int(ENOENT), Int(ENOTDIR), Int(ENAMETOOLONG): return nil
            default: throw error
            }
        }
        let status = try file.status()
        if let reason = refusal(of: status, allowing: isFromOutside ? 0o600 : 0o755) { throw rejected(path, reason) }
        return file
    }

    private static func refusal(of status: stat, allowing mode: mode_t) -> String? {
        if status.st_mode & S_IFMT != S_IFREG { return "it is no regular file" }
        if status.st_uid != geteuid() { return "it belongs to another user" }
        if status.st_nlink != 1 { return "it has more than one name" }
        if status.st_mode & 0o7777 & ~mode != 0 { return "others have a right to it" }
        return nil
    }

    private static func rejected(_ path: String, _ reason: String) -> CurlewError {
        CurlewError(
            .resumeRejected,
            phase: .creation,
            reason: "the resume data names a file that is not a download's, \(path): \(reason)"
        )
    }
}

/// Thrown if the file of an earlier exchange cannot be continued, because it is missing, too short or in use. The
/// download then starts over.
struct PartIsGone: Error, Equatable {
    /// Whether another download writes to the file, and may still need it.
    let isTaken: Bool
}

extension TemporaryFile {
    /// Opens the file of an earlier download and cuts it to its first `size` bytes.
    ///
    /// Throws `PartIsGone`, and leaves the file as it was, if the file is shorter, was not created by a download, or is
    /// being written by another one. Throws a `CurlewError` if the system refuses to open the file, which may be
    /// intact.
    static func reopen(_ path: String, keeping size: Int64) throws -> TemporaryFile {
        switch PartialFile.lock(path, isFromOutside: false) {
        case .locked(let file):
            guard let status = try? file.status(), Int64(status.st_size) >= size,
                // Bytes after `size` are not covered by the resume data.
                (try? file.truncate(to: size)) != nil
            else { throw PartIsGone(isTaken: false) }
            return TemporaryFile(file)
        case .busy: throw PartIsGone(isTaken: true)
        case .gone: throw PartIsGone(isTaken: false)
        case .unknown(let error): throw error
        }
    }
}

extension ResumeData {
    /// Removes the file, unless another download writes to it or it cannot be opened. Blocks.
    ///
    /// `isNeeded` is asked before a removal. `forget` is called before a removal, and also if the file is gone or is
    /// not a download's. Until they return, no other download can continue the file.
    func removeFile(forgetting forget: () -> Void = {}, unless isNeeded: () -> Bool = { false }) {
        switch PartialFile.lock(file, isFromOutside: false) {
        case .locked(let file):
            if isNeeded() { return }
            forget()
            TemporaryFile(file).discard()
        case .gone: forget()
        case .busy, .unknown: break
        }
    }
}

extension CurlewError {
    /// Whether `PartialFile.open` refused the file because no download has left it. False if the system refused to open
    /// it.
    var isForeignPart: Bool { code == .resumeRejected && native == nil }
}
