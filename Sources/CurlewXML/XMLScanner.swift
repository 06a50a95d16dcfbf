internal import Foundation

/// Goes through the units of an XML text from left to right. In the encodings that are read at all, ASCII is ASCII.
struct XMLScanner {
    private let bytes: Data
    /// Bytes of one unit: 1, or 2 where the text is UTF-16.
    let width: Int
    private let isBigEndian: Bool
    private var position: Int

    init(_ data: Data) {
        bytes = data
        let start = Array(data.prefix(4))
        switch (start.first, start.dropFirst().first) {
        case (0xFE, 0xFF): (width, isBigEndian, position) = (2, true, 2)
        case (0xFF, 0xFE): (width, isBigEndian, position) = (2, false, 2)
        case (0x00, 0x3C): (width, isBigEndian, position) = (2, true, 0)
        case (0x3C, 0x00): (width, isBigEndian, position) = (2, false, 0)
        default: (width, isBigEndian, position) = (1, true, start.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        }
    }

    /// nil at the end.
    var peek: UInt16? { unit(at: position) }

    mutating func next() -> UInt16? {
        guard let unit = peek else { return nil }
        position += width
        return unit
    }

    mutating func skip(_ text: StaticString) -> Bool {
        guard matches(text) else { return false }
        position += text.utf8CodeUnitCount * width
        return true
    }

    /// Steps over `end` and what stands before it. False where it is missing.
    mutating func skip(until end: StaticString) -> Bool {
        while !skip(end) { if next() == nil { return false } }
        return true
    }

    /// What stands before `end`, which is skipped as well; nil where it is missing.
    mutating func taken(until end: StaticString) -> String? {
        var text: [UInt16] = []
        while !skip(end) {
            guard let unit = next() else { return nil }
            text.append(unit)
        }
        return String(decoding: text, as: UTF16.self)
    }

    /// Steps over a tag or a declaration and its `>`, which may stand in quotes, too. `visit` is given each unit outside of quotes;
    /// an opening quote is one. False where the end is missing.
    mutating func skipMarkup(visit: (UInt16) throws(XMLFlaw) -> Void) throws(XMLFlaw) -> Bool {
        var quote: UInt16?
        while let unit = next() {
            if let open = quote {
                if unit == open { quote = nil }
                continue
            }
            try visit(unit)
            if Self.isQuote(unit) { quote = unit }
            if unit == UInt16(UInt8(ascii: ">")) { return true }
        }
        return false
    }

    static func isQuote(_ unit: UInt16) -> Bool {
        unit == UInt16(UInt8(ascii: "\"")) || unit == UInt16(UInt8(ascii: "'"))
    }

    private func matches(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            text.indices.allSatisfy { unit(at: position + $0 * width) == UInt16(text[$0]) }
        }
    }

    private func unit(at position: Int) -> UInt16? {
        guard position + width <= bytes.count else { return nil }
        let first = bytes[bytes.startIndex + position]
        guard width == 2 else { return UInt16(first) }
        let second = bytes[bytes.startIndex + position + 1]
        return isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first)
    }
}
