/// Formats an event stream line by line: colours names and comments, and indents JSON in `data:` lines.
///
/// Each further line of the JSON gets its own `data:`, so the output is still an event stream with equivalent data.
struct PrettyEvents: BodyShaper {
    /// Longer lines are coloured but not indented.
    private static let limit = 1 << 20

    private let shaping: Shaping
    private var colors: EventColors
    private var line: [UInt8] = []
    private var isLong = false

    init(shaping: Shaping) {
        self.shaping = shaping
        colors = EventColors(palette: shaping.palette)
    }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if isLong {
                colors.feed(CollectionOfOne(byte), into: &out)
                isLong = byte != 0x0A
                continue
            }
            line.append(byte)
            if byte == 0x0A { endLine(into: &out) } else if line.count > Self.limit { releaseLine(into: &out) }
        }
    }

    mutating func finish(into out: inout [UInt8]) {
        if !line.isEmpty { endLine(into: &out) }
        colors.finish(into: &out)
    }

    private mutating func releaseLine(into out: inout [UInt8]) {
        isLong = true
        colors.feed(line, into: &out)
        line = []
    }

    private mutating func endLine(into out: inout [UInt8]) {
        defer { line = [] }
        let field = Array("data:".utf8)
        let hasEnd = line.last == 0x0A
        let value = line.dropFirst(field.count).dropLast(hasEnd ? 1 : 0)
        guard line.starts(with: field), let first = value.first(where: { !Shaping.isSpace($0) }),
            Shaping.beginsJSON(first), let shaped = shaping.formattedJSON(value)
        else { return colors.feed(line, into: &out) }
        let palette = shaping.palette
        let name = Array((palette(.fieldName, "data") + ": ").utf8)
        for (index, piece) in shaped.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if index > 0 { out.append(0x0A) }
            out += name + piece
        }
        if hasEnd { out.append(0x0A) }
    }
}

/// Colours the field names and comments of an event stream, without changing its text.
struct EventColors: Sendable {
    private enum Place: Sendable { case lineStart, name, rest, comment }

    private let palette: Palette
    private var place: Place = .lineStart

    init(palette: Palette) { self.palette = palette }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if byte == 0x0A {
                endStyle(into: &out)
                out.append(byte)
                place = .lineStart
                continue
            }
            switch place {
            case .lineStart:
                place = byte == UInt8(ascii: ":") ? .comment : .name
                out += palette.start(place == .comment ? .comment : .fieldName).utf8
            case .name where byte == UInt8(ascii: ":"):
                endStyle(into: &out)
                place = .rest
            case .name, .rest, .comment: break
            }
            out.append(byte)
        }
    }

    mutating func finish(into out: inout [UInt8]) { endStyle(into: &out) }

    private func endStyle(into out: inout [UInt8]) {
        switch place {
        case .name: out += palette.end(.fieldName).utf8
        case .comment: out += palette.end(.comment).utf8
        case .lineStart, .rest: break
        }
    }
}
