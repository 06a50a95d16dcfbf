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
