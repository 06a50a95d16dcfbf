internal import Foundation

/// The headers, cookies and credentials that `--session` stores between calls, as JSON.
struct StoredSession: Equatable, Sendable {
    struct Cookie: Equatable, Sendable {
        var name: String
        var value: String
        var domain: String
        var path: String
        var isSecure = false
        var isHTTPOnly = false
        /// Whether the cookie is sent only to this host, not to its subdomains.
        var isHostOnly = false
        /// The seconds since 1970. `nil` for a session cookie, which the file keeps forever.
        var expires: Double?
    }

    /// The origin that headers and credentials are sent to. `nil` if there are none, and in files of version 1. Cookies
    /// have their own domains.
    var origin: String?
    var headers: [HeaderField] = []
    var cookies: [Cookie] = []
    var auth: AuthSettings?

    /// Whether a header field is stored. Fields that belong to a single request are not, nor are cookies and
    /// credentials, which are stored separately.
    static func isKept(header name: String) -> Bool {
        let name = name.lowercased()
        return
            !(name.hasPrefix("content-") || name.hasPrefix("if-") || name == "cookie" || name == "authorization"
            || name == "host" || name == "range" || name == "transfer-encoding")
    }

    // MARK: The origin

    /// Whether the session contains data that only its origin may see.
    var hasCredentials: Bool { auth != nil || !headers.isEmpty }

    /// Throws if the session was stored for another origin. A file of version 1 names no origin: its host is known if
    /// the command chose the path (`isByHost`), but not if the user did.
    func check(_ target: String, isByHost: Bool, path: String) throws(UsageError) {
        guard hasCredentials, origin != target else { return }
        guard let origin else {
            if isByHost { return }
            throw UsageError(
                "\(path) does not say which server its headers and credentials are for",
                hint: "Add \"origin\": \"\(target)\" to the file, or choose another file.")
        }
        throw UsageError(
            "the headers and credentials of \(path) are for \(origin), and not sent to \(target)",
            hint: "Use another session for this server.")
    }

    // MARK: JSON

    init() {}

    /// `nil` if the JSON is not a session.
    init?(_ json: JSONValue) {
        guard case .object = json else { return nil }
        origin = json["origin"]?.text
        for field in json["headers"]?.elements ?? [] {
            guard let name = field["name"]?.text, let value = field["value"]?.text else { return nil }
            headers.append(HeaderField(name, value))
        }
        for entry in json["cookies"]?.elements ?? [] {
            guard let name = entry["name"]?.text, let value = entry["value"]?.text else { return nil }
            var cookie = Cookie(
                name: name, value: value, domain: entry["domain"]?.text ?? "", path: entry["path"]?.text ?? "/")
            cookie.isSecure = entry["secure"] == .bool(true)
            cookie.isHTTPOnly = entry["httpOnly"] == .bool(true)
            cookie.isHostOnly = entry["hostOnly"] == .bool(true)
            if case .number(let digits)? = entry["expires"] { cookie.expires = Double(digits) }
            cookies.append(cookie)
        }
        if let entry = json["auth"], let type = entry["type"]?.text, let scheme = AuthScheme(rawValue: type) {
            auth = AuthSettings(
                scheme: scheme, username: entry["username"]?.text ?? "", secret: entry["secret"]?.text)
        }
    }

    var json: JSONValue {
        var authValue = JSONValue.null
        if let auth {
            authValue = .object([
                "type": .string(auth.scheme.rawValue),
                "username": .string(auth.username),
                "secret": auth.secret.map(JSONValue.string) ?? .null,
            ])
        }
        return .object([
            "__meta__": .object(["about": .string("curlew session"), "version": .number("2")]),
            "origin": origin.map(JSONValue.string) ?? .null,
            "auth": authValue,
            "cookies": .array(cookies.map(Self.json)),
            "headers": .array(
                headers.map { .object(["name": .string($0.name), "value": .string($0.value)]) }),
        ])
    }

    private static func json(_ cookie: Cookie) -> JSONValue {
        .object([
            "name": .string(cookie.name),
            "value": .string(cookie.value),
            "domain": .string(cookie.domain),
            "path": .string(cookie.path),
            "secure": .bool(cookie.isSecure),
            "httpOnly": .bool(cookie.isHTTPOnly),
            "hostOnly": .bool(cookie.isHostOnly),
            "expires": cookie.expires.map { .number(Amount.fixed($0, digits: 0)) } ?? .null,
        ])
    }
}

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
