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
