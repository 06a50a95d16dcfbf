/// Prepares one body for the output: decodes it, hides binary data, escapes control characters, and formats the text.
struct BodyFormatter: Sendable {
    /// The requirements of the output.
    struct Target: Equatable, Sendable {
        var isTerminal: Bool
        var pretty: Pretty
        var look = Look()
    }

    private let target: Target
    private var decoder: CharsetDecoder?
    private var shaper: (any BodyShaper)?
    private var safety: TerminalText?
    private var isHidden = false
    /// The last byte written. It tells if the last line has ended.
    private(set) var lastByte: UInt8?

    init(kind: MediaKind, target: Target) {
        self.target = target
        guard target.isTerminal || target.pretty != .none else { return }
        decoder = kind.charset.flatMap(CharsetDecoder.init(charset:))
        if target.isTerminal { safety = TerminalText() }
        shaper = Shaping(pretty: target.pretty, look: target.look).shaper(for: kind.format)
    }

    mutating func feed(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if isHidden { return }
        let start = out.count
        defer { lastByte = out.count > start ? out.last : lastByte }
        guard safety != nil || shaper != nil || decoder != nil else {
            out += bytes
            return
        }
        if let text = decoder?.decode(bytes) { show(text, into: &out) } else { show(bytes, into: &out) }
    }

    /// Ends the body. On a terminal, also ends its last line.
    mutating func finish(into out: inout [UInt8]) {
        let start = out.count
        if !isHidden, let rest = decoder?.finish(), !rest.isEmpty { show(rest, into: &out) }
        if !isHidden { finishText(into: &out) }
        let last = out.count > start ? out.last : lastByte
        if target.isTerminal, let last, last != 0x0A { out.append(0x0A) }
        lastByte = out.count > start ? out.last : lastByte
    }

    /// Writes the bytes held back, and ends an open colour, which would otherwise continue after the body.
    private mutating func finishText(into out: inout [UInt8]) {
        if safety != nil {
            // The filter finishes first: the text that it held back precedes the end of the shaper's last token.
            var held: [UInt8] = []
            safety?.finish(into: &held)
            emit(held, into: &out)
        }
        shaper?.finish(into: &out)
    }

    /// Shows decoded bytes. Binary data is detected only after decoding, because in UTF-16 every other byte of English
    /// text is a NUL.
    private mutating func show(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if target.isTerminal, BinaryNotice.isBinary(bytes) {
            isHidden = true
            let start = out.count
            finishText(into: &out)
            if let last = out.count > start ? out.last : lastByte, last != 0x0A { out.append(0x0A) }
            out += BinaryNotice.response.utf8
            return
        }
        guard safety != nil else { return emit(bytes, into: &out) }
        var safe: [UInt8] = []
        safety?.feed(bytes, into: &safe)
        emit(safe, into: &out)
    }

    private mutating func emit(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        if shaper != nil { shaper?.feed(bytes, into: &out) } else { out += bytes }
    }
}

/// Indents and colours the text of a body while it arrives.
protocol BodyShaper: Sendable {
    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8])
    /// Called once, after the last byte.
    mutating func finish(into out: inout [UInt8])
}

extension PrettyJSON: BodyShaper {}
extension EventColors: BodyShaper {}

/// The settings that decide how a body is indented and coloured.
struct Shaping: Sendable, Equatable {
    let pretty: Pretty
    let look: Look

    var palette: Palette { Palette(isColored: pretty.hasColors, theme: look.theme) }

    private var formatsJSON: Bool { pretty.isFormatted && look.format.formatsJSON }
    private var formatsMarkup: Bool { pretty.isFormatted && look.format.formatsXML }

    /// Returns the shaper for a format. `nil` if the bytes are written unchanged.
    func shaper(for format: MediaKind.Format) -> (any BodyShaper)? {
        guard pretty != .none else { return nil }
        switch format {
        case .json, .lines: return look.format.sortsKeys && formatsJSON ? SortedJSON(json) : json
        case .events:
            if formatsJSON { return PrettyEvents(shaping: self) }
            return pretty.hasColors ? EventColors(palette: palette) : nil
        case .xml where formatsMarkup || pretty.hasColors: return PrettyXML(markup)
        case .html where formatsMarkup || pretty.hasColors: return PrettyHTML(markup)
        case .text where formatsJSON && !look.isLive: return FoundJSON(shaping: self)
        case .xml, .html, .text, .other: return nil
        }
    }

    private var json: PrettyJSON {
        PrettyJSON(palette: palette, indent: look.format.jsonIndent, isFormatted: formatsJSON)
    }

    private var markup: MarkupWriter {
        MarkupWriter(palette: palette, indent: look.format.xmlIndent, isFormatted: formatsMarkup)
    }

    /// Returns JSON text indented and coloured. `nil` if the text is not complete JSON. Callers check with `beginsJSON`
    /// that it is an object or an array.
    func formattedJSON(_ text: some Collection<UInt8>) -> [UInt8]? {
        var json = json
        var out: [UInt8] = []
        json.feed(look.format.sortsKeys ? JSONParser.sorted(text) ?? Array(text) : Array(text), into: &out)
        json.finish(into: &out)
        return json.isComplete ? out : nil
    }

    /// Whether the byte begins an object or an array. A text that is only a number or a word is not treated as JSON.
    static func beginsJSON(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}

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
}

/// The notice that a terminal shows instead of binary data.
enum BinaryNotice {
    static let response = boxed("NOTE: binary data not shown in terminal")

    /// Whether the bytes contain a NUL. Text has none; most binary formats have one early.
    static func isBinary(_ bytes: some Sequence<UInt8>) -> Bool { bytes.contains(0) }

    private static func boxed(_ text: String) -> String {
        let edge = "+" + String(repeating: "-", count: text.count + 2) + "+"
        return "\(edge)\n| \(text) |\n\(edge)"
    }
}
