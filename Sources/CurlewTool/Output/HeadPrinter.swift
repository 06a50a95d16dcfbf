/// Writes the heads of requests and responses.
struct HeadPrinter: Sendable {
    let palette: Palette
    /// Whether what a server wrote must be made safe first.
    let isTerminal: Bool
    /// Whether fields stand in the order of their names.
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

    /// `Elapsed time: 0.12s` and its like.
    func metadata(_ rows: [(name: String, value: String)]) -> String {
        rows.map { "\(palette(.fieldName, $0.name)): \(palette(.jsonNumber, $0.value))\n" }.joined()
    }

    private func fields(_ headers: [HeaderField]) -> String {
        ordered(headers).map { "\(palette(.headerName, shown($0.name))): \(palette(.headerValue, shown($0.value)))\n" }
            .joined()
    }

    /// Fields of one name keep their order.
    private func ordered(_ headers: [HeaderField]) -> [HeaderField] {
        guard sortsFields else { return headers }
        return headers.enumerated()
            .sorted { ($0.element.name.lowercased(), $0.offset) < ($1.element.name.lowercased(), $1.offset) }
            .map(\.element)
    }

    private func shown(_ text: String) -> String { isTerminal ? TerminalText.escaped(text) : text }
}

/// A header field, free of what a library makes of it.
struct HeaderField: Equatable, Sendable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The first lines of a request, as they go out over HTTP/1.1.
struct RequestHead: Equatable, Sendable {
    var method: String
    var target: String
    var version = "HTTP/1.1"
    var headers: [HeaderField]
}
