/// A key's bytes, to be compared with those of others.
struct JSONKeyText {
    private let start: UnsafePointer<UInt8>
    let count: Int
    /// All bytes of a key that has eight at most.
    private let word: UInt64

    init(_ start: UnsafePointer<UInt8>, _ count: Int) {
        self.start = start
        self.count = count
        word = Self.word(start, count)
    }

    /// One bit of 64: keys that have different ones are different.
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

    /// Whether so many bytes elsewhere are the same; they are as many.
    func equals(_ other: UnsafePointer<UInt8>) -> Bool {
        count <= 8 ? Self.word(other, count) == word : JSONBytes.areEqual(other, start, count)
    }

    /// The last eight bytes of a longer key; of a shorter one all, and perhaps some of them twice.
    private static func word(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        if count >= 8 { return JSONBytes.load(start + (count &- 8)) }
        if count >= 4 { return JSONBytes.load32(start) | JSONBytes.load32(start + (count &- 4)) &<< 32 }
        if count == 0 { return 0 }
        return UInt64(start[0]) | UInt64(start[count &>> 1]) &<< 8 | UInt64(start[count &- 1]) &<< 16
    }
}
