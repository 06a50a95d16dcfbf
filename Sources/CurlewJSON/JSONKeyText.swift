/// The bytes of a key, for comparisons with other keys.
struct JSONKeyText {
    private let start: UnsafePointer<UInt8>
    let count: Int
    /// All bytes of a key of at most eight bytes; the last eight of a longer key.
    private let word: UInt64

    init(_ start: UnsafePointer<UInt8>, _ count: Int) {
        self.start = start
        self.count = count
        word = Self.word(start, count)
    }

    /// One bit of 64, chosen by the key's bytes. Keys with different marks are different.
    var mark: UInt64 {
        let product = (word &+ UInt64(truncatingIfNeeded: count)) &* 0x9e37_79b9_7f4a_7c15
        return 1 &<< (product &>> 58)
    }

    var isASCII: Bool {
        if word & JSONBytes.highBits != 0 { return false }
        var at = 0
        while count &- at > 8 {
            if JSONBytes.load(start + at) & JSONBytes.highBits != 0 { return false }
            at &+= 8
        }
        return true
    }

    /// Whether the first `count` bytes of `other` are equal to the key.
    func equals(_ other: UnsafePointer<UInt8>) -> Bool {
        count <= 8 ? Self.word(other, count) == word : JSONBytes.areEqual(other, start, count)
    }

    /// Returns the last eight bytes of a longer key, or all bytes of a shorter one, some of them perhaps twice.
    private static func word(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        if count >= 8 { return JSONBytes.load(start + (count &- 8)) }
        if count >= 4 { return JSONBytes.load32(start) | JSONBytes.load32(start + (count &- 4)) &<< 32 }
        if count == 0 { return 0 }
        return UInt64(start[0]) | UInt64(start[count &>> 1]) &<< 8 | UInt64(start[count &- 1]) &<< 16
    }
}
