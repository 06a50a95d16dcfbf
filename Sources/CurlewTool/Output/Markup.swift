internal import CurlewCore

/// Splits XML and HTML into bytes of text and tokens of markup: tags, comments, declarations.
struct MarkupScanner: Sendable {
    enum Token: Equatable, Sendable {
        case text(UInt8)
        case markup([UInt8])
    }

    /// A longer token is not treated as markup.
    private static let limit = 1 << 20

    let isHTML: Bool
    /// The unfinished token, which begins with `<`. Empty between tokens.
    private(set) var token: [UInt8] = []
    private var quote: UInt8?
    private var brackets = 0

    init(isHTML: Bool) { self.isHTML = isHTML }

    var isFull: Bool { token.count > Self.limit }

    mutating func take(_ byte: UInt8) -> Token? {
        if token.isEmpty {
            guard byte == UInt8(ascii: "<") else { return .text(byte) }
            token = [byte]
            return nil
        }
        token.append(byte)
        guard isEnd(byte) else { return nil }
        return .markup(abandon())
    }

    /// Returns the bytes of the token and forgets it.
    mutating func abandon() -> [UInt8] {
        defer { (token, quote, brackets) = ([], nil, 0) }
        return token
    }

    private mutating func isEnd(_ byte: UInt8) -> Bool {
        let isClosing = byte == UInt8(ascii: ">")
        if token.starts(with: "<!--".utf8) { return isClosing && token.count > 6 && ends(with: "-->") }
        if token.starts(with: "<![CDATA[".utf8) { return isClosing && ends(with: "]]>") }
        if token.starts(with: "<?".utf8) { return isClosing && (isHTML || ends(with: "?>")) }
        if let open = quote {
            if byte == open { quote = nil }
            return false
        }
        switch byte {
        // A quoted value may contain `>`.
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: "[") where isDeclaration: brackets += 1
        case UInt8(ascii: "]") where isDeclaration: brackets -= 1
        default: break
        }
        return isClosing && brackets <= 0
    }

    private var isDeclaration: Bool { token.starts(with: "<!".utf8) }

    private func ends(with text: String) -> Bool { token.suffix(text.utf8.count).elementsEqual(text.utf8) }
}

/// The kind and the name of a token of markup.
struct MarkupTag: Equatable, Sendable {
    enum Kind: Equatable, Sendable { case open, close, selfClosing, characterData, other, none }

    let kind: Kind
    /// The name as written. Bytes that are not UTF-8 become U+FFFD.
    let name: String
    /// The length of the name in bytes of the token.
    let nameLength: Int

    init(_ token: [UInt8]) {
        let first = token.dropFirst().first ?? 0
        if token.starts(with: "<![CDATA[".utf8) {
            (kind, name, nameLength) = (.characterData, "", 0)
        } else if first == UInt8(ascii: "!") || first == UInt8(ascii: "?") {
            (kind, name, nameLength) = (.other, "", 0)
        } else {
            let isClosing = first == UInt8(ascii: "/")
            let rest = token.dropFirst(isClosing ? 2 : 1).dropLast()
            let written = rest.prefix { !Shaping.isSpace($0) && $0 != UInt8(ascii: "/") }
            name = String(decoding: written, as: UTF8.self)
            nameLength = written.count
            if name.isEmpty || !MarkupTag.beginsName(rest.first ?? 0) {
                kind = .none
            } else if isClosing {
                kind = .close
            } else {
                kind = rest.last == UInt8(ascii: "/") ? .selfClosing : .open
            }
        }
    }

    static func beginsName(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":") || byte >= 0x80
    }
}

/// Writes the pieces of XML and HTML with colours, line breaks and indentation.
struct MarkupWriter: Sendable {
    let palette: Palette
    let indent: Int
    /// Whether line breaks and indentation are added. If not, white space is written unchanged.
    let isFormatted: Bool
    private var hasWritten = false

    init(palette: Palette, indent: Int = 2, isFormatted: Bool = true) {
        self.palette = palette
        self.indent = indent
        self.isFormatted = isFormatted
    }

    mutating func text(_ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        if !bytes.isEmpty { hasWritten = true }
        out += bytes
    }

    mutating func newLine(depth: Int, into out: inout [UInt8]) {
        guard hasWritten else { return }
        out.append(0x0A)
        // The indentation is limited, because deep nesting would make the output quadratic.
        out += repeatElement(0x20, count: indent * min(depth, 64))
    }

    /// Writes a tag with its attributes, or a comment.
    mutating func markup(_ token: [UInt8], _ tag: MarkupTag, into out: inout [UInt8]) {
        hasWritten = true
        guard palette.isColored else {
            out += token
            return
        }
        switch tag.kind {
        case .open, .close, .selfClosing: paint(token, nameLength: tag.nameLength, into: &out)
        case .other: span(.comment, token, into: &out)
        case .characterData, .none: out += token
        }
    }

    private func paint(_ token: [UInt8], nameLength: Int, into out: inout [UInt8]) {
        var position = (token.dropFirst().first == UInt8(ascii: "/") ? 2 : 1) + nameLength
        span(.tag, token[..<position], into: &out)
        let end = token.count - (token.suffix(2).first == UInt8(ascii: "/") ? 2 : 1)
        while position < end {
            let byte = token[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                let after = token[(position + 1)..<end].firstIndex(of: byte).map { $0 + 1 } ?? end
                span(.attributeValue, token[position..<after], into: &out)
                position = after
            } else if Shaping.isSpace(byte) || byte == UInt8(ascii: "=") {
                out.append(byte)
                position += 1
            } else {
                let isValue = token[position - 1] == UInt8(ascii: "=")
                let rest = token[position..<end]
                let after =
                    rest.firstIndex { Shaping.isSpace($0) || !isValue && $0 == UInt8(ascii: "=") } ?? end
                span(isValue ? .attributeValue : .attribute, token[position..<after], into: &out)
                position = after
            }
        }
        span(.tag, token[end...], into: &out)
    }

    private func span(_ style: Style, _ bytes: some Collection<UInt8>, into out: inout [UInt8]) {
        out += palette.start(style).utf8
        out += bytes
        out += palette.end(style).utf8
    }
}
