/// What the content type says about how to show a body.
struct MediaKind: Equatable, Sendable {
    enum Format: Equatable, Sendable { case json, lines, events, xml, html, text, other }

    let format: Format
    /// Lower case; nil if the type names none.
    let charset: String?

    /// `look` may say otherwise than the type.
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
        // Where servers put JSON without saying so.
        case "text/plain", "text/javascript", "application/javascript": format = .text
        case _ where type.hasSuffix("/xml") || type.hasSuffix("+xml"): format = .xml
        case _ where type.hasSuffix("/json") || type.hasSuffix("+json"): format = .json
        default: format = .other
        }
        let parameter = parts.dropFirst().first { $0.lowercased().hasPrefix("charset=") }
        let label = parameter?.dropFirst("charset=".count).lowercased().filter { $0 != "\"" && $0 != "'" }
        charset = look.charset ?? (label?.isEmpty == false ? label : nil)
    }

    /// Shown as it comes, without being asked.
    var isLive: Bool { format == .lines || format == .events }
}
