internal import Curlew
internal import Dispatch

/// Logs every step of an exchange on standard error (`--debug`).
struct DebugLog: Sendable {
    let monitors: [any EventMonitor]
    private let queue = DispatchQueue(label: "curlew.debug")
    private let errors: OutputFile

    init(_ invocation: Invocation, context: ToolContext) {
        errors = context.errors
        guard invocation.isDebugging else {
            monitors = []
            return
        }
        monitors = [
            LogEventMonitor(minimumLevel: .debug, queue: queue) { [errors] _, message, fields in
                let details = fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
                try? errors.write(DebugText.line(([message] + details).joined(separator: " ")))
            }
        ]
    }

    /// Writes all events so far, and then the connections of the session, if there is one.
    func flush(_ session: Session?) async {
        guard !monitors.isEmpty else { return }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        if let session { try? errors.write(DebugText.connections(await session.connections)) }
    }
}

/// The text that `--debug` prints before the exchange.
enum DebugText {
    static func setup(_ defaults: DefaultOptions, context: ToolContext) -> String {
        let options = (try? defaults.load())?.options ?? []
        let capabilities = Capabilities.current
        let proxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
            .filter { context.environment[$0]?.isEmpty == false }
        let rows = [
            (
                "version",
                "curlew \(CurlewInfo.version), libcurl \(capabilities.version)"
                    + (capabilities.tlsBackend.map { " with \($0)" } ?? "")
            ),
            ("configuration", defaults.file ?? "none at \(Configuration.file(context.environment) ?? "any place")"),
            ("default options", options.isEmpty ? "none" : options.map(text).joined(separator: " ")),
            // Only their names are shown, because the values may contain passwords.
            ("proxy variables", proxies.isEmpty ? "none" : proxies.joined(separator: " ")),
            ("terminal", terminal(context.terminal)),
        ]
        return rows.map { line("\($0): \($1)") }.joined()
    }

    /// Returns a line for each origin that the session has connections to.
    static func connections(_ snapshot: ConnectionSnapshot) -> String {
        let rows = snapshot.origins.sorted { "\($0.key)" < "\($1.key)" }.map { origin, pool in
            let counts = [
                ("in use", pool.inUse), ("idle", pool.idle), ("opening", pool.opening), ("waiting", pool.waiting),
            ]
            let texts = [pool.version?.description].compactMap(\.self) + counts.map { "\($1) \($0)" }
            return "connections to \(origin): \(texts.joined(separator: ", "))"
        }
        return (rows.isEmpty ? ["connections: none"] : rows).map(line).joined()
    }

    static func line(_ text: String) -> String { "curlew: debug: \(TerminalText.escaped(text))\n" }

    /// Returns the option as written. Values that are or may contain credentials are left out.
    private static func text(_ given: GivenOption) -> String {
        let flag = OptionTable.spec(given.option)?.flag ?? given.option.rawValue
        let secret: Set<Option> = [.auth, .certKeyPass, .proxy, .raw]
        guard let value = given.value else { return flag }
        return secret.contains(given.option) ? "\(flag)=..." : "\(flag)=\(value)"
    }

    private static func terminal(_ terminal: Terminal) -> String {
        let named = [
            ("input", terminal.isInput), ("output", terminal.isOutput), ("errors", terminal.isError),
        ]
        let names = named.filter(\.1).map(\.0)
        return names.isEmpty ? "none" : names.joined(separator: " ")
    }
}
