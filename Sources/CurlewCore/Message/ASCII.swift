/// Byte classes and case folding of ASCII text. HTTP defines its syntax on bytes, not on characters.
package enum ASCII {
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    package static func isAlpha(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    /// Whether a byte is a `tchar` (RFC 9110, 5.6.2).
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        if isAlpha(byte) || isDigit(byte) { return true }
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default:
            return false
        }
    }

    /// Whether two strings are equal apart from the case of ASCII letters.
    package static func equalsIgnoringCase(_ lhs: String, _ rhs: String) -> Bool {
        guard lhs.utf8.count == rhs.utf8.count else { return false }
        // Most names have the same case already.
        if lhs == rhs { return true }
        // The bytes of a native string are contiguous, so `withUTF8` copies nothing.
        var (left, right) = (lhs, rhs)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                for index in left.indices where left[index] != right[index] {
                    if lowercased(left[index]) != lowercased(right[index]) { return false }
                }
                return true
            }
        }
    }

    /// Whether a byte is a space or a horizontal tab (OWS in RFC 9110).
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    package static func isHexDigit(_ byte: UInt8) -> Bool { hexValue(byte) != nil }

    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// Percent-encodes all bytes but those that are to be kept.
    static func percentEncoded(_ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if isKept(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), upperHexDigits[Int(byte >> 4)], upperHexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    static let upperHexDigits = Array("0123456789ABCDEF".utf8)

    /// Returns the decimal number; `nil` if it does not fit. Every byte must be a digit.
    static func number(_ digits: some Sequence<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            let (product, overflowsProduct) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowsSum) = product.addingReportingOverflow(Int64(digit &- 0x30))
            if overflowsProduct || overflowsSum { return nil }
            value = sum
        }
        return value
    }

    static func trimmingBlanks(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    package static func lowercased(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 &- 0x41 >= 26 }) { return text }
        return String(decoding: text.utf8.map(lowercased), as: UTF8.self)
    }

    static func trimmingBlanks(_ text: String) -> String {
        String(decoding: trimmingBlanks(Array(text.utf8)[...]), as: UTF8.self)
    }
}
