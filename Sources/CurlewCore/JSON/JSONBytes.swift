// Eight bytes of a text at a time, and the characters that JSON is made of.

enum JSONByte {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
    static let openBracket = UInt8(ascii: "[")
    static let closeBracket = UInt8(ascii: "]")
    static let minus = UInt8(ascii: "-")
    static let zero = UInt8(ascii: "0")

    /// Space, tab, line feed, carriage return.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (1 << UInt64(byte) as UInt64) & 0x1_0000_2600 != 0
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }
}

enum JSONBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    static func load(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    /// The highest bit of each byte that is a quote, a backslash or a control character. Bits above the lowest one
    /// that is set may be wrong.
    @inline(__always)
    static func endsOfPlainText(_ word: UInt64) -> UInt64 {
        let quote = word ^ 0x2222_2222_2222_2222
        let backslash = word ^ 0x5c5c_5c5c_5c5c_5c5c
        return ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highBits
    }

    @inline(__always)
    static func areEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if count >= 8 {
            var at = 0
            while at &+ 8 <= count {
                if load(left + at) != load(right + at) { return false }
                at &+= 8
            }
            return load(left + (count &- 8)) == load(right + (count &- 8))
        }
        var at = 0
        while at < count {
            if left[at] != right[at] { return false }
            at &+= 1
        }
        return true
    }
}
