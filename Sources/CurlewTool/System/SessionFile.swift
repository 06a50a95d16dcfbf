internal import Foundation

/// A stored session on disk: readable only by its owner, and replaced in one step.
struct SessionFile: Sendable {
    let path: String

    /// Returns the stored session, or an empty one if there is no file yet.
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
        do {
            try PrivateFile.replace(path, with: Array(JSONWriter.indented(session.json).utf8))
        } catch {
            throw UsageError("cannot write \(path): \(error.text)")
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
}
