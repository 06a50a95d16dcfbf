/// Writes the heads of requests and responses.
struct HeadPrinter: Sendable {
    let palette: Palette
    /// Whether the text is escaped for a terminal.
    let isTerminal: Bool
    /// Whether fields are sorted by name.
    var sortsFields = false

    func request(_ head: RequestHead) -> String {
        let line = [
            palette(.method, shown(head.method)), palette(.url, shown(head.target)),
            palette(.protocolVersion, head.version),
        ]
        return line.joined(separator: " ") + "\n" + fields(head.headers)
    }

    func response(version: String, status: Int, reason: String, headers: [HeaderField]) -> String {
        var line = palette(.protocolVersion, version) + " " + palette(Style.status(status), String(status))
        if !reason.isEmpty { line += " " + palette(.reason, shown(reason)) }
        return line + "\n" + fields(headers)
    }

    /// Returns lines such as `Elapsed time: 1.23 s`.
    func metadata(_ rows: [(name: String, value: String)]) -> String {
        rows.map { "\(palette(.fieldName, $0.name)): \(palette(.jsonNumber, $0.value))\n" }.joined()
    }

    private func fields(_ headers: [HeaderField]) -> String {
        ordered(headers).map { "\(palette(.headerName, shown($0.name))): \(palette(.headerValue, shown($0.value)))\n" }
            .joined()
    }

    /// Sorts the fields if required. Fields with the same name keep their order.
    private func ordered(_ headers: [HeaderField]) -> [HeaderField] {
        guard sortsFields else { return headers }
        return headers.enumerated()
            .sorted { ($0.element.name.lowercased(), $0.offset) < ($1.element.name.lowercased(), $1.offset) }
            .map(\.element)
    }

    private func shown(_ text: String) -> String { isTerminal ? TerminalText.escaped(text) : text }
}

/// A name and a value, independent of the library's header types.
struct HeaderField: Equatable, Sendable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request's line and fields, in the notation of HTTP/1.1.
struct RequestHead: Equatable, Sendable {
    var method: String
    var target: String
    var version = "HTTP/1.1"
    var headers: [HeaderField]
}
