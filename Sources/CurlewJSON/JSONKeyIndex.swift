internal import Foundation

/// The keys of an object by their text, as the key strategy has it: for many keys, keys with escapes, repeated keys,
/// and whenever a strategy changes keys. The first of equal keys counts.
final class JSONKeyIndex {
    private var places: [String: Int] = [:]
    /// The keys in the order of the text, each once.
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

    /// The value of a key; -1 where there is none.
    func find(_ key: String) -> Int { places[key] ?? -1 }
}

extension Dictionary {
    /// Whether the value was stored.
    fileprivate mutating func updateIfAbsent(_ value: Value, for key: Key) -> Bool {
        func store(_ present: inout Value?) -> Bool {
            guard present == nil else { return false }
            present = value
            return true
        }
        return store(&self[key])
    }
}

/// `user_name` as `userName`.
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
        // Letters alone are one word; what else separates words Foundation knows.
        guard word.utf8.allSatisfy({ $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }) else {
            return word.capitalized
        }
        return word.prefix(1).uppercased() + word.dropFirst().lowercased()
    }
}
