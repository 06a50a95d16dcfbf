internal import Foundation

// Keys of objects: comparing, indexing, hashing and converting them.

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

/// The keys of an object, after the key strategy, with the places of their values. Used if a strategy changes keys, or
/// if an object has many keys, keys with escapes, or repeated keys. The first of equal keys counts.
final class JSONKeyIndex {
    private var places: [String: Int] = [:]
    /// The keys in the order of the text, without repetitions.
    private(set) var keys: [String] = []

    init(_ document: JSONDocument, object: Int, _ path: JSONPath) throws {
        let header = document.word(at: object)
        places.reserveCapacity(header.count)
        keys.reserveCapacity(header.count)
        var place = object + 2
        while place < header.end {
            guard let text = try document.string(at: place) else { throw JSONFault() }
            let key: String
            switch document.decoder.keyDecodingStrategy {
            case .useDefaultKeys: key = text
            case .convertFromSnakeCase: key = JSONSnakeCase.camelCase(text)
            case .custom(let convert): key = convert(path.keys + [JSONKey(stringValue: text)]).stringValue
            @unknown default: key = text
            }
            if places.updateIfAbsent(place + 1, for: key) { keys.append(key) }
            place = document.place(after: place + 1)
        }
    }

    /// Returns the place of a key's value; -1 if the key is absent.
    func find(_ key: String) -> Int { places[key] ?? -1 }
}

extension Dictionary {
    /// Stores the value unless the key is present. Returns whether it was stored.
    fileprivate mutating func updateIfAbsent(_ value: Value, for key: Key) -> Bool {
        func store(_ present: inout Value?) -> Bool {
            guard present == nil else { return false }
            present = value
            return true
        }
        return store(&self[key])
    }
}

/// Converts `user_name` to `userName`.
enum JSONSnakeCase {
    static func camelCase(_ key: String) -> String {
        guard let first = key.firstIndex(where: { $0 != "_" }), let last = key.lastIndex(where: { $0 != "_" }) else {
            return key
        }
        let words = key[first...last].split(separator: "_")
        guard words.count > 1 else { return key }
        let inner = words[0].lowercased() + words.dropFirst().map { capitalized($0) }.joined()
        return key[..<first] + inner + key[key.index(after: last)...]
    }

    private static func capitalized(_ word: Substring) -> String {
        // A word of letters alone is simple. Only Foundation knows the other word boundaries.
        guard word.utf8.allSatisfy({ $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }) else {
            return word.capitalized
        }
        return word.prefix(1).uppercased() + word.dropFirst().lowercased()
    }
}

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
