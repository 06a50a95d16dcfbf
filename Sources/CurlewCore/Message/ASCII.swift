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
        // Most names are written alike, and comparing short strings is as fast as comparing numbers.
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
}
