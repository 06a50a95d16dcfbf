internal import Foundation

/// Numbers that are the same for keys that are equal as strings. If they are the same for others, the text is left to
/// Foundation's encoder: that costs time, and changes no byte.
enum JSONKeyHash {
    /// The hash of a key that is the last one in the text, with its quotes.
    static func of(_ name: String, writtenAt start: Int, _ output: inout JSONOutput) -> UInt64 {
        let (hash, bits) = hash(output.start + start + 1, output.count - start - 2)
        return bits & JSONBytes.highBits == 0 ? hash : ofUnicode(name, hash, &output)
    }

    /// `String` compares by canonical equivalence: the composed form counts. Letters below U+0300 have no other one.
    private static func ofUnicode(_ name: String, _ hash: UInt64, _ output: inout JSONOutput) -> UInt64 {
        if name.utf8.allSatisfy({ $0 < 0xcc }) { return hash }
        // Written, since the others' hashes are those of texts with escapes.
        let end = output.count
        output.string(name.precomposedStringWithCanonicalMapping)
        defer { output.truncate(to: end) }
        return self.hash(output.start + end + 1, output.count - end - 2).0
    }

    /// The hash, and all bits of the text. Up to eight bytes behind the text are loaded.
    private static func hash(_ text: UnsafePointer<UInt8>, _ count: Int) -> (UInt64, UInt64) {
        var (hash, bits, at) = (UInt64(truncatingIfNeeded: count) &* 0x9e37_79b9_7f4a_7c15, UInt64(0), 0)
        while count &- at > 8 {
            let word = JSONBytes.load(text + at)
            bits |= word
            hash = mixed(hash ^ word)
            at &+= 8
        }
        let rest = UInt64(truncatingIfNeeded: 64 &- 8 &* (count &- at))
        let last = rest == 64 ? 0 : JSONBytes.load(text + at) &<< rest
        return (mixed(hash ^ last), bits | last)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xd6e8_feb8_6659_fd93)
        return product.high ^ product.low
    }
}

extension JSONSnakeCase {
    /// `userName` as `user_name`; nil for letters that are not ASCII.
    ///
    /// A word begins at a capital. Of several capitals in a row the last one belongs to the small letter after it.
    static func snakeCase(_ key: String) -> String? {
        let text = Array(key.utf8)
        guard text.allSatisfy({ $0 < 0x80 }) else { return nil }
        let (capitals, small) = (UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"))
        var beginnings: [Int] = []
        var at = 1
        while at < text.count, let capital = text[at...].firstIndex(where: capitals.contains) {
            beginnings.append(capital)
            guard let letter = text[capital...].firstIndex(where: small.contains) else { break }
            if letter > capital + 1 { beginnings.append(letter - 1) }
            at = letter + 1
        }
        var result: [UInt8] = []
        for (index, byte) in text.enumerated() {
            if beginnings.first == index {
                result.append(UInt8(ascii: "_"))
                beginnings.removeFirst()
            }
            result.append(capitals.contains(byte) ? byte | 0x20 : byte)
        }
        return String(decoding: result, as: UTF8.self)
    }
}
