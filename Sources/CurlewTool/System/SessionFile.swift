internal import Foundation

/// A stored session on disk: readable by its owner alone, replaced in one step.
struct SessionFile: Sendable {
    let path: String

    /// An empty session where there is no file yet.
    func load() throws(UsageError) -> StoredSession {
        guard InputFile.exists(path) else { return StoredSession() }
        let bytes = try InputFile.read(path)
        guard let json = try? JSONParser.parse(bytes), let session = StoredSession(json) else {
            throw UsageError("\(path) is not a session file", hint: "Delete it, or choose another name.")
        }
        return session
    }

    func save(_ session: StoredSession) throws(UsageError) {
        try makeFolder()
        // The folder may be one that others can write to: a name that they cannot guess, and nothing that is there already.
        let temporary = "\(path).\(UUID().uuidString.lowercased())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        do {
            try OutputFile(descriptor: descriptor).write(JSONWriter.indented(session.json))
        } catch {
            close(descriptor)
            unlink(temporary)
            throw UsageError("cannot write \(path): \(error.text)")
        }
        close(descriptor)
        guard rename(temporary, path) == 0 else {
            let error = failure()
            unlink(temporary)
            throw error
        }
    }

    private func makeFolder() throws(UsageError) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: String(path[..<slash]),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw UsageError("cannot make the folder of \(path)")
        }
    }

    private func failure() -> UsageError { UsageError("cannot write \(path): \(String(cString: strerror(errno)))") }
}
