/// The format and the charset of a body, for showing it.
struct MediaKind: Equatable, Sendable {
    enum Format: Equatable, Sendable { case json, lines, events, xml, html, text, other }

    let format: Format
    /// The charset in lower case. `nil` if none is named.
    let charset: String?

    /// Reads the content type. `look` may override it and its charset.
    init(contentType: String?, look: Look = Look()) {
        let contentType = look.mediaType ?? contentType
        let parts = (contentType ?? "").split(separator: ";").map { part in
            String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        }
        let type = (parts.first ?? "").lowercased()
        switch type {
        case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines",
            "application/jsonlines", "application/x-jsonlines", "application/json-seq":
            format = .lines
        case "text/event-stream": format = .events
        case "text/html": format = .html
        // Servers also send JSON with these types.
        case "text/plain", "text/javascript", "application/javascript": format = .text
        case _ where type.hasSuffix("/xml") || type.hasSuffix("+xml"): format = .xml
        case _ where type.hasSuffix("/json") || type.hasSuffix("+json"): format = .json
        default: format = .other
        }
        let parameter = parts.dropFirst().first { $0.lowercased().hasPrefix("charset=") }
        let label = parameter?.dropFirst("charset=".count).lowercased().filter { $0 != "\"" && $0 != "'" }
        charset = look.charset ?? (label?.isEmpty == false ? label : nil)
    }

    /// Whether the format is one of records that are shown while they arrive.
    var isLive: Bool { format == .lines || format == .events }
}
