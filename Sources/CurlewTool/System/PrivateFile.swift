internal import Foundation

/// Files with secrets in them: readable by their owner alone from their first moment, replaced in one step.
enum PrivateFile {
    static func replace(_ path: String, with bytes: [UInt8]) throws(OutputFile.Failure) {
        // The folder may be one that others can write to: a name that they cannot guess, and nothing that is there already.
        // Of its own length: one that is made of a long name would be too long.
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
