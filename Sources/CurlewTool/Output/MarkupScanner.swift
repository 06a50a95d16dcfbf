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
        (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":") || byte >= 0x80
    }
}
