internal import CurlewCore

/// The settings of a WebSocket.
struct WebSocketSettings: Equatable, Sendable {
    /// The subprotocols to offer, the preferred one first.
    var subprotocols: [String] = []
    var sendsBinary = false
    var pingInterval: Duration?
    /// The time that the server may be silent after the end of standard input. `nil` waits for as many messages as
    /// there were lines: see `Farewell.Patience`.
    var linger: Duration?

    mutating func apply(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .subprotocol: subprotocols += try Self.subprotocols(value, for: flag)
        case .binary: sendsBinary = true
        case .ping:
            guard let interval = try ValueParsing.duration(value, for: flag) else {
                throw UsageError("\(flag): 0 is no interval", hint: "Without \(flag) no pings are sent.")
            }
            pingInterval = interval
        case .linger: linger = try ValueParsing.duration(value, for: flag) ?? .zero
        default: break
        }
    }

    private static func subprotocols(_ text: String, for flag: String) throws(UsageError) -> [String] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        let areTokens = names.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(ASCII.isTokenByte) }
        guard areTokens else { throw UsageError("\(flag): '\(text)' is not the name of a subprotocol") }
        return names
    }
}

extension Invocation {
    /// Whether the URL is that of a WebSocket.
    var isWebSocket: Bool {
        guard let url = urls.first else { return false }
        return ["ws", "wss"].contains(TargetURL.scheme(of: url, default: network.defaultScheme))
    }

    /// Refuses options that have no effect on a WebSocket, and the options of WebSockets for other URLs.
    func checkWebSocket() throws(UsageError) {
        guard isWebSocket else {
            if webSocket != WebSocketSettings() {
                throw UsageError(
                    "--subprotocol, --binary, --ping and --linger are for WebSockets",
                    hint: "Their URLs begin with ws:// or wss://.")
            }
            return
        }
        if let method, method != "GET" { throw UsageError("a WebSocket is opened with GET, not with \(method)") }
        if body != BodySettings() || items.contains(where: { $0.kind.isBody }) {
            throw UsageError(
                "a WebSocket has no request body",
                hint: "Each line of standard input is a message: echo hello | curlew \(urls.first ?? "")")
        }
        if Set(webSocket.subprotocols).count != webSocket.subprotocols.count {
            throw UsageError("--subprotocol: a name is given twice")
        }
        let useless: [(String, Bool)] = [
            ("--download", download != nil), ("--offline and --curl", output.mode != .send),
            ("--har", output.harFile != nil), ("--timing", output.drawsTiming), ("--retry", network.retries > 0),
            ("--limit-rate", network.rateLimit != nil), ("--cache", cache.directory != nil),
            ("--rate", network.requestRate != nil),
        ]
        if let (flags, _) = useless.first(where: \.1) { throw UsageError("\(flags): not for WebSockets") }
    }
}
