/// Where a session's file is.
enum SessionPath {
    /// Whether the user chose the file's place.
    static func isPath(_ name: String) -> Bool { name.contains("/") }

    /// A name with a slash is a path; any other lives under the configuration folder, per host.
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

    /// A host as a folder name: a host cannot lead out of the sessions' folder.
    static func folder(_ host: String) -> String {
        let safe = host.lowercased().map { $0 == "/" || $0 == ":" || $0 == "\0" ? "_" : $0 }
        let text = String(safe)
        return text.isEmpty || text.allSatisfy { $0 == "." } ? "_" : text
    }
}
