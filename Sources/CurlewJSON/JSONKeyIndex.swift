internal import Foundation

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
