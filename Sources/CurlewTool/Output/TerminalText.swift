/// Escapes bytes from a server for a terminal, piece by piece.
///
/// Line feeds and tabs are kept. Other control characters of ASCII and bytes that are not UTF-8 are written in the form
/// `\x1b`; control characters of C1, and characters that change the direction of text or break lines, in the form
/// `\u{202e}`. A server can therefore neither move the cursor, nor set the title, nor hide text.
struct TerminalText: Sendable {
    /// The first bytes of a character that has not arrived completely: at most three.
    private var pending: [UInt8] = []
    /// Whether a carriage return is held back. It is dropped if a line feed follows.
    private var heldReturn = false

    static func escaped(_ text: String) -> String {
        var filter = TerminalText()
        var out: [UInt8] = []
        filter.feed(text.utf8, into: &out)
        filter.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Escapes text for a single line: line feeds and tabs are written as `\x0a` and `\x09`.
    static func escapedLine(_ text: String) -> String {
        escaped(text).replacing("\n", with: "\\x0a").replacing("\t", with: "\\x09")
    }

    mutating func feed(_ bytes: some Sequence<UInt8>, into out: inout [UInt8]) {
        for byte in bytes { take(byte, into: &out) }
    }

    /// Ends the text: writes a carriage return and the bytes of a character that are held back.
    mutating func finish(into out: inout [UInt8]) {
        releaseReturn(into: &out)
        for byte in pending { Self.writeHex(byte, into: &out) }
        pending = []
    }

    private mutating func take(_ byte: UInt8, into out: inout [UInt8]) {
        if !pending.isEmpty {
            if byte & 0xC0 == 0x80, Self.isPossible(pending, then: byte) {
                pending.append(byte)
                if pending.count == Self.length(of: pending[0]) {
                    Self.writeCharacter(pending, into: &out)
                    pending = []
                }
                return
            }
            for stray in pending { Self.writeHex(stray, into: &out) }
            pending = []
        }
        if heldReturn, byte != 0x0A { releaseReturn(into: &out) }
        heldReturn = false
        switch byte {
        case 0x0A, 0x09, 0x20...0x7E: out.append(byte)
        case 0x0D: heldReturn = true
        case 0xC2...0xF4: pending = [byte]
        default: Self.writeHex(byte, into: &out)
        }
    }

    private mutating func releaseReturn(into out: inout [UInt8]) {
        if heldReturn { Self.writeHex(0x0D, into: &out) }
        heldReturn = false
    }

    private static func length(of first: UInt8) -> Int { first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4 }

    /// Whether the byte may follow. Refuses overlong forms, surrogates and code points above U+10FFFF.
    private static func isPossible(_ start: [UInt8], then byte: UInt8) -> Bool {
        guard start.count == 1 else { return true }
        switch start[0] {
        case 0xE0: return byte >= 0xA0
        case 0xED: return byte < 0xA0
        case 0xF0: return byte >= 0x90
        case 0xF4: return byte < 0x90
        default: return true
        }
    }

    private static func writeCharacter(_ bytes: [UInt8], into out: inout [UInt8]) {
        guard let scalar = String(decoding: bytes, as: UTF8.self).unicodeScalars.first, isHidden(scalar.value) else {
            out += bytes
            return
        }
        out += Array("\\u{\(String(scalar.value, radix: 16))}".utf8)
    }

    /// Whether a character beyond printable ASCII is escaped: DEL, C1, direction marks, and separators of lines and
    /// paragraphs.
    static func isHidden(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func writeHex(_ byte: UInt8, into out: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        out += [UInt8(ascii: "\\"), UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

/// The width of text on a terminal: most characters occupy one column, East Asian scripts and emoji two, combining
/// marks none.
enum Columns {
    /// Returns the number of columns. Terminals differ about clusters such as families of emoji and flags, but none
    /// draws them wider than the sum of their parts.
    static func count(_ text: some StringProtocol) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// Returns the longest beginning that fits into `width` columns.
    static func prefix(_ text: String, _ width: Int) -> Substring {
        var left = width
        return text.prefix { fits($0, &left) }
    }

    /// Returns the longest end that fits into `width` columns.
    static func suffix(_ text: String, _ width: Int) -> Substring {
        var left = width
        return text.suffix(text.reversed().prefix { fits($0, &left) }.count)
    }

    /// Pads the text with spaces, after its end or before its beginning.
    static func padded(_ text: String, to width: Int, atEnd: Bool = true) -> String {
        let padding = String(repeating: " ", count: max(0, width - count(text)))
        return atEnd ? text + padding : padding + text
    }

    private static func fits(_ character: Character, _ left: inout Int) -> Bool {
        left -= count(String(character))
        return left >= 0
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20...0x7E: return 1
        // The emoji variation selector widens the symbol before it from one column to two.
        case 0xFE0F: return 1
        // A soft hyphen may be shown.
        case 0xAD: return 1
        // Hangul vowels and final consonants join the consonant before them.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        case _ where isWide(scalar.value) || scalar.properties.isEmojiPresentation && !isFlagPart(scalar.value):
            return 2
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return 1
        }
    }

    /// Regional indicators: two of them form one flag.
    private static func isFlagPart(_ scalar: UInt32) -> Bool { 0x1F1E6...0x1F1FF ~= scalar }

    /// The blocks whose East Asian Width in Unicode is wide or full.
    private static func isWide(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x3029, 0x302E...0x303E, 0x3041...0x3098, 0x309B...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x1F300...0x1F320,
            0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
