/// Indents and colours HTML while it arrives, in one pass.
///
/// Blocks start on new lines. Text and inline elements keep their order; their white space at line ends is replaced
/// with the indentation, which renders alike. The contents of `pre`, `script`, `style`, `textarea` and `xmp` are not
/// changed.
struct PrettyHTML: BodyShaper {
    private struct Block: Sendable {
        let name: String
        /// Whether the content is broken into lines. The end tag then starts a new line too.
        var hasLines = false
    }

    /// Deeper blocks are not indented further: the search for the start tag of an end tag would become quadratic.
    private static let maximumDepth = 256

    private var writer: MarkupWriter
    private var scanner = MarkupScanner(isHTML: true)
    private var blocks: [Block] = []
    /// White space that is written or replaced once the next token is known.
    private var space: [UInt8] = []
    /// Whether the last token was a block's tag or a declaration. True at the beginning.
    private var isAtEdge = true
    /// The beginning of the end tag of an element whose content is not changed: `</script`. `nil` outside such an
    /// element.
    private var verbatimEnd: [UInt8]?
    private var isPassingThrough = false

    init(_ writer: MarkupWriter) { self.writer = writer }

    /// The number of open blocks, at most `maximumDepth`.
    var depth: Int { blocks.count }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes {
            if isPassingThrough {
                out.append(byte)
            } else if verbatimEnd != nil {
                takeVerbatim(byte, into: &out)
            } else {
                take(byte, into: &out)
            }
        }
    }

    mutating func finish(into out: inout [UInt8]) {
        let rest = scanner.abandon()
        if !rest.isEmpty || !writer.isFormatted || verbatimEnd != nil { out += space + rest }
        space = []
    }

    private mutating func take(_ byte: UInt8, into out: inout [UInt8]) {
        // The `<` of `a < b` does not begin a tag.
        if scanner.token.count == 1, !MarkupTag.beginsName(byte), !"/!?".utf8.contains(byte) {
            flow(scanner.abandon(), into: &out)
        }
        switch scanner.take(byte) {
        case .text(let byte) where Shaping.isSpace(byte): space.append(byte)
        case .text(let byte): flow([byte], into: &out)
        case .markup(let token): markup(token, into: &out)
        case nil: break
        }
        guard scanner.isFull || space.count > 1 << 16 else { return }
        out += space + scanner.abandon()
        space = []
        isPassingThrough = true
    }

    /// Treats everything before the element's end tag as text.
    private mutating func takeVerbatim(_ byte: UInt8, into out: inout [UInt8]) {
        guard let end = verbatimEnd else { return }
        if scanner.token.isEmpty || scanner.token.count < end.count {
            let expected = end[scanner.token.count]
            guard byte == expected || (byte | 0x20) == expected else {
                writer.text(scanner.abandon(), into: &out)
                if byte == end[0] { _ = scanner.take(byte) } else { writer.text(CollectionOfOne(byte), into: &out) }
                return
            }
        }
        guard case .markup(let token)? = scanner.take(byte) else { return }
        verbatimEnd = nil
        isAtEdge = false
        markup(token, into: &out)
    }

    private mutating func markup(_ token: [UInt8], into out: inout [UInt8]) {
        let tag = MarkupTag(token)
        let name = tag.name.lowercased()
        let isBlock = HTMLElements.blocks.contains(name)
        let isDeclaration = tag.kind == .other && !token.starts(with: "<!--".utf8)
        if tag.kind == .close, isBlock, let index = blocks.lastIndex(where: { $0.name == name }) {
            let block = blocks[index]
            blocks.removeSubrange(index...)
            if block.hasLines { breakLine(into: &out) } else { flushSpace(into: &out) }
            writer.markup(token, tag, into: &out)
            isAtEdge = true
        } else if isDeclaration || isBlock && (tag.kind == .open || tag.kind == .selfClosing) {
            closeImplied(by: name)
            breakLine(into: &out)
            writer.markup(token, tag, into: &out)
            isAtEdge = true
            if tag.kind == .open, !HTMLElements.void.contains(name), blocks.count < Self.maximumDepth {
                blocks.append(Block(name: name))
            }
        } else {
            beginFlow(into: &out)
            writer.markup(token, tag, into: &out)
        }
        if tag.kind == .open, HTMLElements.verbatim.contains(name) { verbatimEnd = Array("</\(name)".utf8) }
    }

    /// Closes the blocks whose end tag was omitted: `li` ends the `li` before it.
    private mutating func closeImplied(by name: String) {
        while let last = blocks.last, HTMLElements.ends(last.name, before: name) { blocks.removeLast() }
    }

    private mutating func flow(_ bytes: [UInt8], into out: inout [UInt8]) {
        beginFlow(into: &out)
        writer.text(bytes, into: &out)
    }

    private mutating func beginFlow(into out: inout [UInt8]) {
        let isAfterBlock = isAtEdge && blocks.last?.hasLines == true
        if writer.isFormatted, space.contains(0x0A) || isAfterBlock {
            breakLine(into: &out)
        } else {
            flushSpace(into: &out)
        }
        isAtEdge = false
    }

    private mutating func breakLine(into out: inout [UInt8]) {
        guard writer.isFormatted else { return flushSpace(into: &out) }
        space = []
        if !blocks.isEmpty { blocks[blocks.count - 1].hasLines = true }
        writer.newLine(depth: blocks.count, into: &out)
    }

    private mutating func flushSpace(into out: inout [UInt8]) {
        writer.text(space, into: &out)
        space = []
    }
}

/// The names of elements that decide about line breaks.
enum HTMLElements {
    static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    ]

    static let verbatim: Set<String> = ["pre", "script", "style", "textarea", "xmp"]

    /// Elements that begin on a new line.
    static let blocks: Set<String> = [
        "html", "head", "body", "title", "meta", "link", "script", "style", "base", "template", "noscript", "div", "p",
        "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr",
        "td",
        "th", "form", "fieldset", "legend", "select", "optgroup", "option", "datalist", "header", "footer", "main",
        "nav",
        "section", "article", "aside", "h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "hr", "blockquote", "pre",
        "figure",
        "figcaption", "address", "details", "summary", "dialog", "iframe", "video", "audio", "source", "track",
    ]

    /// Whether a start tag `next` ends the open element implicitly.
    static func ends(_ open: String, before next: String) -> Bool {
        switch open {
        case "li": next == "li"
        case "dt", "dd": next == "dt" || next == "dd"
        case "td", "th": ["td", "th", "tr", "tbody", "tfoot"].contains(next)
        case "tr": ["tr", "tbody", "tfoot"].contains(next)
        case "thead", "tbody": next == "tbody" || next == "tfoot"
        case "option": next == "option" || next == "optgroup"
        case "p": blocks.contains(next) && !["script", "link", "meta", "style", "template", "noscript"].contains(next)
        case "head": next == "body"
        default: false
        }
    }
}
