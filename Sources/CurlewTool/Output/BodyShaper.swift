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
        json.feed(look.format.sortsKeys ? JSONSorting.sorted(text) ?? Array(text) : Array(text), into: &out)
        json.finish(into: &out)
        return json.isComplete ? out : nil
    }

    /// Whether the byte begins an object or an array. A text that is only a number or a word is not treated as JSON.
    static func beginsJSON(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}
