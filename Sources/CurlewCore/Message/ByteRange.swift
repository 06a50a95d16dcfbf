/// A part of a representation, as a `Range` header asks for it.
package enum ByteRange: Hashable, Sendable, CustomStringConvertible {
    /// From that byte to the end.
    case from(Int64)
    /// First and last byte, both included.
    case bytes(ClosedRange<Int64>)
    /// So many bytes at the end.
    case last(Int64)

    /// The value for `Range`.
    package var headerValue: String {
        switch self {
        case .from(let first): "bytes=\(first)-"
        case .bytes(let range): "bytes=\(range.lowerBound)-\(range.upperBound)"
        case .last(let count): "bytes=-\(count)"
        }
    }

    package var description: String { headerValue }
}

/// What a `Content-Range` header says about a body (RFC 9110, 14.4).
package struct ContentRange: Hashable, Sendable {
    /// First and last byte of the part; nil in the answer to a range that cannot be satisfied (`bytes */50`).
    package let range: ClosedRange<Int64>?
    /// Length of the whole; nil where the server does not know it.
    package let length: Int64?

    /// nil where the value is malformed or contradicts itself: the field is to be ignored then.
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

    /// The part and the whole where both are known: what a 206 needs to be put in its place with certainty.
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
