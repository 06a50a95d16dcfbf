/// The container of an object.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    // One reference and nothing else: the standard library copies the container for each value.
    let object: JSONFields

    private var document: JSONDocument { object.document }
    var codingPath: [any CodingKey] { object.path.keys }
    var allKeys: [Key] { object.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { find(key) >= 0 }

    /// The value of a key; -1 where there is none.
    @inline(__always)
    private func find(_ key: some CodingKey) -> Int { object.find(key.stringValue) }

    @inline(__always)
    private func place(of key: some CodingKey) throws -> Int {
        let place = find(key)
        guard place >= 0 else { throw missing(key) }
        return place
    }

    /// The value of a key; nil where there is none, and for null.
    @inline(__always)
    private func present(_ key: Key) -> Int? {
        let place = find(key)
        return place < 0 || document.word(at: place).kind == .null ? nil : place
    }

    @inline(never)
    private func missing(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(
            key,
            .init(
                codingPath: object.path.keys,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
    }

    @inline(never)
    private func mismatch(_ type: any Any.Type, _ place: Int, _ key: Key) -> DecodingError {
        document.mismatch(type, at: place, object.path.appending(key))
    }

    func decodeNil(forKey key: Key) throws -> Bool { document.word(at: try place(of: key)).kind == .null }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try document.decode(type, at: place(of: key), under: object.path) { object.path.appending(key) }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let place = present(key) else { return nil }
        return try document.decode(type, at: place, under: object.path) { object.path.appending(key) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try document.container(keyedBy: type, at: place(of: key), object.path.nesting(key))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try document.unkeyedContainer(at: place(of: key), object.path.nesting(key))
    }

    func superDecoder() -> any Decoder { superDecoder(for: JSONKey(stringValue: "super")) }
    func superDecoder(forKey key: Key) -> any Decoder { superDecoder(for: key) }

    private func superDecoder(for key: some CodingKey) -> any Decoder {
        let place = find(key)
        // Without a value it is a decoder of null.
        return JSONValueDecoder(
            document: document, path: object.path.appending(key), place: place < 0 ? document.placeOfNull : place)
    }
}

// The types that need no decoder of their own.
extension JSONKeyedContainer {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try bool(place(of: key), key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try string(place(of: key), key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try double(place(of: key), key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try float(place(of: key), key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, place(of: key), key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, place(of: key), key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, place(of: key), key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, place(of: key), key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, place(of: key), key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, place(of: key), key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, place(of: key), key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, place(of: key), key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, place(of: key), key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, place(of: key), key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, place(of: key), key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, place(of: key), key) }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try bool($0, key) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try string($0, key) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try double($0, key) }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map { try float($0, key) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(type, key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try integerIfPresent(type, key) }

    @inline(__always)
    private func bool(_ place: Int, _ key: Key) throws -> Bool {
        guard let bool = document.bool(at: place) else { throw mismatch(Bool.self, place, key) }
        return bool
    }

    @inline(__always)
    private func string(_ place: Int, _ key: Key) throws -> String {
        guard let string = try document.string(at: place) else { throw mismatch(String.self, place, key) }
        return string
    }

    @inline(__always)
    private func double(_ place: Int, _ key: Key) throws -> Double {
        guard let double = try document.double(at: place) else { throw mismatch(Double.self, place, key) }
        return double
    }

    @inline(__always)
    private func float(_ place: Int, _ key: Key) throws -> Float {
        guard let float = try document.float(at: place) else { throw mismatch(Float.self, place, key) }
        return float
    }

    @inline(__always)
    private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ place: Int, _ key: Key) throws -> T {
        guard let integer = try document.integer(type, at: place) else { throw mismatch(type, place, key) }
        return integer
    }

    @inline(__always)
    private func integerIfPresent<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
        guard let place = present(key) else { return nil }
        return try integer(type, place, key)
    }
}
