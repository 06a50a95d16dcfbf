internal import Foundation

/// Writes files that contain secrets: only their owner can read them from the first moment, and they are replaced in
/// one step.
enum PrivateFile {
    static func replace(_ path: String, with bytes: [UInt8]) throws(OutputFile.Failure) {
        // Other users may be able to write to the folder, so the temporary name cannot be guessed and must not exist
        // yet. It is not derived from the file's name, because a long name would then become too long.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let temporary = "\(folder).curlew-\(UUID().uuidString.lowercased())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw OutputFile.Failure(code: errno) }
        do throws(OutputFile.Failure) {
            defer { close(descriptor) }
            try OutputFile(descriptor: descriptor).write(bytes)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let failure = OutputFile.Failure(code: errno)
            unlink(temporary)
            throw failure
        }
    }
}
