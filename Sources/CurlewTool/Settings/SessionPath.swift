/// The paths of session files.
enum SessionPath {
    /// Whether the name is a path that the user chose.
    static func isPath(_ name: String) -> Bool { name.contains("/") }

    /// Returns the path of a session's file. A name with a slash is a path. Any other name is in the configuration
    /// folder, per host.
    static func path(name: String, host: String, environment: [String: String]) throws(UsageError) -> String {
        guard !name.isEmpty else { throw UsageError("--session: the name is empty") }
        if isPath(name) { return InputFile.expanded(name) }
        guard name != ".", name != "..", !name.contains("\0") else {
            throw UsageError("--session: '\(name)' cannot be a name")
        }
        guard let base = Configuration.folder(environment) else {
            throw UsageError("--session: neither XDG_CONFIG_HOME nor HOME is set", hint: "Give the session's path.")
        }
        return "\(base)/sessions/\(folder(host))/\(name).json"
    }

    /// Returns the name of a host's folder, which cannot lead out of the folder of sessions.
    static func folder(_ host: String) -> String {
        let safe = host.lowercased().map { $0 == "/" || $0 == ":" || $0 == "\0" ? "_" : $0 }
        let text = String(safe)
        return text.isEmpty || text.allSatisfy { $0 == "." } ? "_" : text
    }
}
