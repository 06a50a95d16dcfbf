/// Reads the bytes of a header from left to right, and never beyond their end.
struct ByteScanner {
    let bytes: [UInt8]
    private(set) var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Skips `byte` if it is next. Returns whether it was.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    /// Skips `text` if the next bytes are equal to it. Returns whether they were.
    mutating func skip(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count else { return false }
        for offset in 0..<length where bytes[position + offset] != text.utf8Start[offset] { return false }
        position += length
        return true
    }

    mutating func skip(while condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        skip(while: condition)
        return bytes[start..<position]
    }

    /// Reads exactly `digits` decimal digits; `nil`, without moving, if there are fewer.
    mutating func number(digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var value = 0
        for offset in position..<position + digits {
            guard ASCII.isDigit(bytes[offset]) else { return nil }
            value = value * 10 + Int(bytes[offset] &- 0x30)
        }
        position += digits
        return value
    }

    /// Reads one or more decimal digits; `nil` if there are none, or if the number does not fit into Int64.
    mutating func number() -> Int64? {
        let digits = take(while: ASCII.isDigit)
        return digits.isEmpty ? nil : ASCII.number(digits)
    }

    /// Reads a quoted string, which begins at the position. A backslash escapes the next byte. If the closing quote is
    /// missing, the value is the rest of the text.
    mutating func quotedString() -> (value: [UInt8], isClosed: Bool) {
        var value: [UInt8] = []
        guard skip(UInt8(ascii: "\"")) else { return (value, false) }
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return (value, true)
            case UInt8(ascii: "\\"): value.append(next() ?? byte)
            default: value.append(byte)
            }
        }
        return (value, false)
    }
}

extension ByteScanner {
    /// Returns the bytes with escapes decoded: `escape` and two hexadecimal digits are one byte. `nil` if an escape is
    /// malformed, or if `belongs` is false for one of the other bytes.
    static func unescaped(
        _ text: some Sequence<UInt8>, escape: UInt8 = UInt8(ascii: "%"), where belongs: (UInt8) -> Bool = { _ in true }
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            if byte == escape {
                guard let high = rest.next().flatMap(ASCII.hexValue), let low = rest.next().flatMap(ASCII.hexValue)
                else { return nil }
                bytes.append(high << 4 | low)
            } else if belongs(byte) {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return bytes
    }
}
