/// The part of a representation that a `Range` header asks for.
package enum ByteRange: Hashable, Sendable, CustomStringConvertible {
    /// From this byte to the end.
    case from(Int64)
    /// From the first to the last byte, both included.
    case bytes(ClosedRange<Int64>)
    /// This number of bytes at the end.
    case last(Int64)

    /// The value of the `Range` header.
    package var headerValue: String {
        switch self {
        case .from(let first): "bytes=\(first)-"
        case .bytes(let range): "bytes=\(range.lowerBound)-\(range.upperBound)"
        case .last(let count): "bytes=-\(count)"
        }
    }

    package var description: String { headerValue }
}

extension ByteRange {
    /// Reads a single byte range (RFC 9110, 14.1.2). `nil` for several ranges, for other units and for invalid text.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skip(while: ASCII.isBlank)
        let unit = String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self)
        guard ASCII.equalsIgnoringCase(unit, "bytes"), scanner.skip("=") else { return nil }
        scanner.skip(while: ASCII.isBlank)
        if scanner.skip(UInt8(ascii: "-")) {
            guard let count = scanner.number() else { return nil }
            self = .last(count)
        } else {
            guard let first = scanner.number(), scanner.skip(UInt8(ascii: "-")) else { return nil }
            if let next = scanner.peek, ASCII.isDigit(next) {
                guard let last = scanner.number(), first <= last, last < .max else { return nil }
                self = .bytes(first...last)
            } else {
                self = .from(first)
            }
        }
        scanner.skip(while: ASCII.isBlank)
        guard scanner.isAtEnd else { return nil }
    }

    /// The bytes that the range selects from a body of this size; `nil` if it selects none.
    package func resolved(in size: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first): first < size ? first..<size : nil
        case .bytes(let range): range.lowerBound < size ? range.lowerBound..<min(range.upperBound + 1, size) : nil
        case .last(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
        }
    }
}

/// The value of a `Content-Range` header (RFC 9110, 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The first and last byte of the part; `nil` in the response to a range that cannot be satisfied (`bytes */50`).
    package let range: ClosedRange<Int64>?
    /// The length of the whole representation; `nil` if the server does not know it.
    package let length: Int64?

    /// `nil` if the value is malformed or contradicts itself: the field must be ignored then.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skip(while: ASCII.isBlank)
        let unit = String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self)
        guard ASCII.equalsIgnoringCase(unit, "bytes"), let next = scanner.peek, ASCII.isBlank(next) else { return nil }
        scanner.skip(while: ASCII.isBlank)

        if scanner.skip(UInt8(ascii: "*")) {
            range = nil
        } else {
            guard let first = scanner.number(), Self.skip("-", in: &scanner), let last = scanner.number(),
                first <= last, last < .max
            else { return nil }
            range = first...last
        }
        guard Self.skip("/", in: &scanner) else { return nil }

        if scanner.skip(UInt8(ascii: "*")) {
            length = nil
        } else {
            guard let length = scanner.number() else { return nil }
            self.length = length
        }
        scanner.skip(while: ASCII.isBlank)
        guard scanner.isAtEnd else { return nil }
        if range == nil, length == nil { return nil }
        if let range, let length, range.upperBound >= length { return nil }
    }

    /// The part and the length of the whole, which together determine the place of a 206's body; `nil` unless both are
    /// known.
    package var located: (range: ClosedRange<Int64>, length: Int64)? {
        guard let range, let length else { return nil }
        return (range, length)
    }

    private static func skip(_ text: StaticString, in scanner: inout ByteScanner) -> Bool {
        scanner.skip(while: ASCII.isBlank)
        guard scanner.skip(text) else { return false }
        scanner.skip(while: ASCII.isBlank)
        return true
    }
}
