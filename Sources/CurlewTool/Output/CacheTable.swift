internal import Foundation

/// The output of `curlew cache list`: one line per response, or JSON.
struct CacheTable: Sendable {
    struct Item: Sendable {
        let url: String
        let status: Int
        let size: Int64
        let stored: Date
        let freshUntil: Date
        /// The request fields that the response varies on.
        let vary: [String]
        /// Whether the response may be reused only with the credentials of its request.
        let isForCredentials: Bool
    }

    let asJSON: Bool
    let isTerminal: Bool
    private var isFirst = true

    init(asJSON: Bool, isTerminal: Bool) {
        self.asJSON = asJSON
        self.isTerminal = isTerminal
    }

    var beginning: String {
        asJSON ? "[" : line("METHOD", "STATUS", "SIZE", "STORED", "FRESH UNTIL", "VARY", "URL")
    }

    var end: String { asJSON ? (isFirst ? "]\n" : "\n]\n") : "" }

    mutating func row(_ item: Item) -> String {
        defer { isFirst = false }
        guard asJSON else {
            let vary = item.vary + (item.isForCredentials ? ["(credentials)"] : [])
            // Servers choose the names in Vary, and a redirect may lead to any URL.
            return line(
                Self.method, String(item.status), Amount.bytes(item.size), Self.text(item.stored),
                Self.text(item.freshUntil), shown(vary.isEmpty ? "-" : vary.joined(separator: ",")), shown(item.url)
            )
        }
        let object = JSONValue.object([
            "url": .string(item.url),
            "method": .string(Self.method),
            "status": .number(String(item.status)),
            "size": .number(String(item.size)),
            "stored": .string(Self.text(item.stored)),
            "freshUntil": .string(Self.text(item.freshUntil)),
            "vary": .array(item.vary.map(JSONValue.string)),
            "credentials": .bool(item.isForCredentials),
        ])
        // Escaped in pipes too: the output of `--json | less` reaches a terminal, and the document keeps its meaning.
        return (isFirst ? "\n    " : ",\n    ") + JSONWriter.safeForTerminals(JSONWriter.compact(object))
    }

    /// The cache stores only responses to GET.
    private static let method = "GET"

    private static func text(_ date: Date) -> String {
        // A stored date may be beyond the years that a calendar shows.
        guard abs(date.timeIntervalSince1970) < 1e11 else {
            return date < Date(timeIntervalSince1970: 0) ? "never" : "ever"
        }
        return date.formatted(.iso8601)
    }

    private func shown(_ text: String) -> String { isTerminal ? TerminalText.escaped(text) : text }

    private func line(
        _ method: String,
        _ status: String,
        _ size: String,
        _ stored: String,
        _ freshUntil: String,
        _ vary: String,
        _ url: String
    ) -> String {
        let columns = [
            Columns.padded(method, to: 6), Columns.padded(status, to: 6), Columns.padded(size, to: 10, atEnd: false),
            Columns.padded(stored, to: 20), Columns.padded(freshUntil, to: 20), Columns.padded(vary, to: 16), url,
        ]
        return columns.joined(separator: "  ") + "\n"
    }
}
