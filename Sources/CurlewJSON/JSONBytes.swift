// Characters of JSON, and operations on eight bytes of a text at a time.

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
    static let slash = UInt8(ascii: "/")
    static let zero = UInt8(ascii: "0")

    /// Whether the byte is a space, tab, line feed or carriage return.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (1 << UInt64(byte) as UInt64) & 0x1_0000_2600 != 0
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }
}

enum JSONBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    static func load(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    }

    static func load32(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(UInt32(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)))
    }

    /// Loads the bytes from `at` to the end of a text, fewer than eight, padded with spaces.
    static func loadLast(_ text: UnsafePointer<UInt8>, _ at: Int, _ count: Int) -> UInt64 {
        let bits = UInt64(truncatingIfNeeded: (count &- at) &* 8)
        var word: UInt64 = 0
        if count >= 8 {
            word = load(text + (count &- 8)) &>> (64 &- bits)
        } else {
            let rest = count &- at
            if rest >= 4 {
                // Two halves, which overlap if there are fewer than eight bytes.
                word = load32(text + at) | load32(text + (count &- 4)) &<< (bits &- 32)
            } else if rest > 0 {
                // The first, the middle and the last of at most three bytes.
                let middle = rest &>> 1
                let shift = UInt64(truncatingIfNeeded: middle &* 8)
                word =
                    UInt64(text[at]) | UInt64(text[at &+ middle]) &<< shift | UInt64(text[count &- 1]) &<< (bits &- 8)
            }
        }
        return word | 0x2020_2020_2020_2020 &<< bits
    }

    /// Returns the highest bit of each byte that is a quote, a backslash or a control character. Only the lowest bit
    /// that is set is reliable.
    static func endsOfPlainText(_ word: UInt64) -> UInt64 {
        let quote = word ^ 0x2222_2222_2222_2222
        let backslash = word ^ 0x5c5c_5c5c_5c5c_5c5c
        return ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highBits
    }

    /// Returns the highest bit of each byte that is a slash. Only the lowest bit that is set is reliable.
    static func slashes(_ word: UInt64) -> UInt64 {
        let slash = word ^ 0x2f2f_2f2f_2f2f_2f2f
        return (slash &- ones) & ~slash & highBits
    }

    /// Returns the number that eight digits form; `nil` if one of the characters is not a digit.
    static func eightDigits(_ word: UInt64) -> UInt64? {
        let zeros: UInt64 = 0x3030_3030_3030_3030
        let upperHalves: UInt64 = 0xf0f0_f0f0_f0f0_f0f0
        // The upper half of a digit is 3, and remains 3 if 6 is added.
        guard word & upperHalves == zeros, (word &+ 0x0606_0606_0606_0606) & upperHalves == zeros else { return nil }
        // Combines digits into pairs, then pairs into fours and eight. The first digit is in the lowest byte.
        let pairs = (word &- zeros) &* 10 &+ ((word &- zeros) &>> 8)
        let lower = (pairs & 0x0000_00ff_0000_00ff) &* 0x000f_4240_0000_0064
        let upper = ((pairs &>> 16) & 0x0000_00ff_0000_00ff) &* 0x0000_2710_0000_0001
        return (lower &+ upper) &>> 32
    }

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
