internal import Foundation

/// Hashes of keys, equal for keys that are equal as strings. If different keys have equal hashes, the text is left to
/// Foundation's encoder, which is slower but gives an equivalent text.
enum JSONKeyHash {
    /// Returns the hash of a key that is the end of the text: with quotes, from `start` on.
    static func of(_ name: String, writtenAt start: Int, _ output: inout JSONOutput) -> UInt64 {
        let (hash, bits) = hash(output.start + start + 1, output.count - start - 2)
        return bits & JSONBytes.highBits == 0 ? hash : ofUnicode(name, hash, &output)
    }

    /// Hashes the composed form, because `String` compares by canonical equivalence. Text below U+0300 is in that form
    /// already.
    private static func ofUnicode(_ name: String, _ hash: UInt64, _ output: inout JSONOutput) -> UInt64 {
        if name.utf8.allSatisfy({ $0 < 0xcc }) { return hash }
        // Written to the output first, because the hashes of other keys are those of escaped text.
        let end = output.count
        output.string(name.precomposedStringWithCanonicalMapping)
        defer { output.truncate(to: end) }
        return self.hash(output.start + end + 1, output.count - end - 2).0
    }

    /// Returns the hash, and all bits of the text. Up to seven bytes after the text are loaded.
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
    /// Converts `userName` to `user_name`; `nil` if a character is not ASCII.
    ///
    /// A word begins at a capital. The last of several capitals in a row begins a word with the small letter after it.
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
