/// Indents and colours XML while it arrives, in one pass.
///
/// White space is added only between tags. From its first text on, an element's white space is not changed, because it
/// may be significant. From the first token that is not XML, the rest is written unchanged.
struct PrettyXML: BodyShaper {
    private struct Element: Sendable {
        let name: String
        /// Whether white space may be significant: the element has text or `xml:space="preserve"`, or is inside such an
        /// element.
        var isMixed: Bool
        var hasChildren = false
    }

    private var writer: MarkupWriter
    private var scanner = MarkupScanner(isHTML: false)
    private var elements: [Element] = []
    /// White space that is written or replaced once the next token is known.
    private var space: [UInt8] = []
    private var isPassingThrough = false

    init(_ writer: MarkupWriter) { self.writer = writer }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if isPassingThrough {
                out.append(byte)
                continue
            }
            switch scanner.take(byte) {
            case .text(let byte): text(byte, into: &out)
            case .markup(let token): markup(token, into: &out)
            case nil: if scanner.isFull { giveUp(scanner.abandon(), into: &out) }
            }
        }
    }

    mutating func finish(into out: inout [UInt8]) {
        let rest = scanner.abandon()
        if !rest.isEmpty || !writer.isFormatted || !elements.isEmpty { out += space + rest }
        space = []
    }

    private mutating func text(_ byte: UInt8, into out: inout [UInt8]) {
        if Shaping.isSpace(byte) {
            space.append(byte)
            if space.count > 1 << 16 { giveUp([], into: &out) }
            return
        }
        // A byte order mark before the root element is not text.
        let isMark = byte == 0xEF || byte == 0xBB || byte == 0xBF
        if elements.isEmpty, !isMark { return giveUp([byte], into: &out) }
        becomesMixed()
        flushSpace(into: &out)
        writer.text(CollectionOfOne(byte), into: &out)
    }

    private mutating func markup(_ token: [UInt8], into out: inout [UInt8]) {
        let tag = MarkupTag(token)
        switch tag.kind {
        case .none: return giveUp(token, into: &out)
        case .characterData:
            becomesMixed()
            flushSpace(into: &out)
        case .close:
            guard let element = elements.popLast(), element.name == tag.name else {
                return giveUp(token, into: &out)
            }
            if element.isMixed || !element.hasChildren { flushSpace(into: &out) } else { breakLine(into: &out) }
        case .open, .selfClosing, .other:
            if elements.last?.isMixed == true { flushSpace(into: &out) } else { breakLine(into: &out) }
            if !elements.isEmpty { elements[elements.count - 1].hasChildren = true }
        }
        writer.markup(token, tag, into: &out)
        if tag.kind == .open {
            let text = String(decoding: token, as: UTF8.self)
            let isPreserved = text.contains("xml:space=\"preserve\"") || text.contains("xml:space='preserve'")
            elements.append(Element(name: tag.name, isMixed: elements.last?.isMixed == true || isPreserved))
        }
    }

    private mutating func becomesMixed() {
        if !elements.isEmpty { elements[elements.count - 1].isMixed = true }
    }

    private mutating func breakLine(into out: inout [UInt8]) {
        guard writer.isFormatted else { return flushSpace(into: &out) }
        space = []
        writer.newLine(depth: elements.count, into: &out)
    }

    private mutating func flushSpace(into out: inout [UInt8]) {
        writer.text(space, into: &out)
        space = []
    }

    private mutating func giveUp(_ token: [UInt8], into out: inout [UInt8]) {
        flushSpace(into: &out)
        out += token
        isPassingThrough = true
    }
}
