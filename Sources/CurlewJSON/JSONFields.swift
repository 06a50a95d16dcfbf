/// An object of the text, with the search for its keys.
final class JSONFields {
    let document: JSONDocument
    let path: JSONPath
    private let place: Int
    /// `nil` if the keys are searched on the tape itself, because they are ASCII and unique.
    private let index: JSONKeyIndex?
    /// The place of the key after the one found last. The next search begins there, because types mostly ask for keys
    /// in the order of the text.
    private var following: Int

    init(_ document: JSONDocument, at place: Int, _ path: JSONPath, index: JSONKeyIndex?) {
        self.document = document
        self.path = path
        self.place = place
        self.index = index
        following = place + 2
    }

    /// Returns the place of a key's value; -1 if the key is absent.
    func find(_ key: String) -> Int {
        if let index { return index.find(key) }
        // Only a bridged string would have to be copied.
        let found =
            key.utf8.withContiguousStorageIfAvailable(find) ?? Array(key.utf8).withUnsafeBufferPointer(find)
        return found == Self.isUnknown ? findEquivalent(of: key) : found
    }

    /// The result of a search if the object may have a key that is equal as a string, but not byte by byte.
    private static let isUnknown = -2

    private func find(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let (words, bytes, object) = (document.words, document.bytes, place)
        let key = JSONKeyText(text.baseAddress ?? bytes, text.count)
        if words[object &+ 1] & key.mark != 0 {
            let (first, end) = (following, JSONWord(bits: words[object]).end)
            var place = first
            repeat {
                let word = JSONWord(bits: words[place])
                let value = JSONWord(bits: words[place &+ 1])
                var next = value.isContainer ? value.end : place &+ 2
                if next == end { next = object &+ 2 }
                if word.length == key.count, key.equals(bytes + word.offset) {
                    following = next
                    return place &+ 1
                }
                place = next
            } while place != first
        }
        // Some letters are equivalent to ASCII ones, such as the Kelvin sign to K.
        return key.isASCII ? -1 : Self.isUnknown
    }

    /// Searches by canonical equivalence, as `String` and Foundation's decoder compare.
    private func findEquivalent(of key: String) -> Int {
        let end = document.word(at: place).end
        var place = self.place + 2
        while place < end {
            if String(decoding: document.text(of: document.word(at: place)), as: UTF8.self) == key { return place + 1 }
            place = document.place(after: place + 1)
        }
        return -1
    }

    /// The keys in the order of the text, without repetitions.
    var keys: [String] {
        if let index { return index.keys }
        let header = document.word(at: place)
        var keys: [String] = []
        keys.reserveCapacity(header.count)
        var place = self.place + 2
        while place < header.end {
            keys.append(String(decoding: document.text(of: document.word(at: place)), as: UTF8.self))
            place = document.place(after: place + 1)
        }
        return keys
    }
}

// The part of a keyed container that does not depend on the type of its keys. The standard library calls containers
// through a witness table, so code with the type's own keys is not specialized and does as little as possible.
extension JSONFields {
    /// Makes a key. Called only for errors and paths.
    typealias MakeKey = () -> any CodingKey

    func place(of name: String, _ key: MakeKey) throws -> Int {
        let place = find(name)
        guard place >= 0 else { throw missing(key()) }
        return place
    }

    /// Returns the place of a key's value; `nil` if the key is absent or its value is null.
    func present(_ name: String) -> Int? {
        let place = find(name)
        return place < 0 || document.word(at: place).kind == .null ? nil : place
    }

    func isNull(_ name: String, _ key: MakeKey) throws -> Bool {
        document.word(at: try place(of: name, key)).kind == .null
    }

    func decode<T: Decodable>(_ type: T.Type, at place: Int, _ key: MakeKey) throws -> T {
        try document.decode(type, at: place, under: path) { path.appending(key()) }
    }

    func superDecoder(for key: any CodingKey) -> any Decoder {
        let place = find(key.stringValue)
        // An absent value is decoded as null.
        return JSONValueDecoder(
            document: document, path: path.appending(key), place: place < 0 ? document.placeOfNull : place)
    }

    private func missing(_ key: any CodingKey) -> DecodingError {
        .keyNotFound(
            key,
            .init(
                codingPath: path.keys,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
    }

    private func mismatch(_ type: any Any.Type, _ place: Int, _ key: MakeKey) -> DecodingError {
        document.mismatch(type, at: place, path.appending(key()))
    }
}

// Types that are decoded without a decoder.
extension JSONFields {
    func bool(_ name: String, _ key: MakeKey) throws -> Bool { try bool(at: place(of: name, key), key) }

    func boolIfPresent(_ name: String, _ key: MakeKey) throws -> Bool? {
        guard let place = present(name) else { return nil }
        return try bool(at: place, key)
    }

    private func bool(at place: Int, _ key: MakeKey) throws -> Bool {
        guard let bool = document.bool(at: place) else { throw mismatch(Bool.self, place, key) }
        return bool
    }

    func string(_ name: String, _ key: MakeKey) throws -> String { try string(at: place(of: name, key), key) }

    func stringIfPresent(_ name: String, _ key: MakeKey) throws -> String? {
        guard let place = present(name) else { return nil }
        return try string(at: place, key)
    }

    private func string(at place: Int, _ key: MakeKey) throws -> String {
        guard let string = try document.string(at: place) else { throw mismatch(String.self, place, key) }
        return string
    }

    func double(_ name: String, _ key: MakeKey) throws -> Double { try double(at: place(of: name, key), key) }

    func doubleIfPresent(_ name: String, _ key: MakeKey) throws -> Double? {
        guard let place = present(name) else { return nil }
        return try double(at: place, key)
    }

    private func double(at place: Int, _ key: MakeKey) throws -> Double {
        guard let double = try document.double(at: place) else { throw mismatch(Double.self, place, key) }
        return double
    }

    func float(_ name: String, _ key: MakeKey) throws -> Float { try float(at: place(of: name, key), key) }

    func floatIfPresent(_ name: String, _ key: MakeKey) throws -> Float? {
        guard let place = present(name) else { return nil }
        return try float(at: place, key)
    }

    private func float(at place: Int, _ key: MakeKey) throws -> Float {
        guard let float = try document.float(at: place) else { throw mismatch(Float.self, place, key) }
        return float
    }

    func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ name: String, _ key: MakeKey) throws -> T {
        try integer(type, at: place(of: name, key), key)
    }

    func integerIfPresent<T: FixedWidthInteger & Decodable>(
        _ type: T.Type,
        _ name: String,
        _ key: MakeKey
    ) throws -> T? {
        guard let place = present(name) else { return nil }
        return try integer(type, at: place, key)
    }

    private func integer<T: FixedWidthInteger & Decodable>(
        _ type: T.Type,
        at place: Int,
        _ key: MakeKey
    ) throws -> T {
        guard let integer = try document.integer(type, at: place) else { throw mismatch(type, place, key) }
        return integer
    }
}
