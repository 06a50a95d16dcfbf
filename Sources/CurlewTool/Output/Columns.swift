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
