internal import Foundation

/// Reads the code units of an XML text from left to right. In every accepted encoding, ASCII units mean ASCII
/// characters.
struct XMLScanner {
    private let bytes: Data
    /// The number of bytes in a unit: 2 in UTF-16, otherwise 1.
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

    /// The next unit; `nil` at the end.
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

    /// Skips the text up to and including `end`. False if `end` is missing.
    mutating func skip(until end: StaticString) -> Bool {
        while !skip(end) { if next() == nil { return false } }
        return true
    }

    /// Returns the text before `end` and skips both; `nil` if `end` is missing.
    mutating func taken(until end: StaticString) -> String? {
        var text: [UInt16] = []
        while !skip(end) {
            guard let unit = next() else { return nil }
            text.append(unit)
        }
        return String(decoding: text, as: UTF16.self)
    }

    /// Skips a tag or a declaration including its `>`; a `>` within quotes does not end it. `visit` is called with
    /// every unit outside quotes and with opening quotes. False if the end is missing.
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
