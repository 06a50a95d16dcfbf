/// The container of an object.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    // The only field: the standard library copies the container for each value.
    let object: JSONFields

    var codingPath: [any CodingKey] { object.path.keys }
    var allKeys: [Key] { object.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { object.find(key.stringValue) >= 0 }

    func decodeNil(forKey key: Key) throws -> Bool { try object.isNull(key.stringValue) { key } }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try object.decode(type, at: object.place(of: key.stringValue) { key }) { key }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let place = object.present(key.stringValue) else { return nil }
        return try object.decode(type, at: place) { key }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try object.document.container(
            keyedBy: type, at: object.place(of: key.stringValue) { key }, object.path.nesting(key))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try object.document.unkeyedContainer(
            at: object.place(of: key.stringValue) { key }, object.path.nesting(key))
    }

    func superDecoder() -> any Decoder { object.superDecoder(for: JSONKey(stringValue: "super")) }
    func superDecoder(forKey key: Key) -> any Decoder { object.superDecoder(for: key) }
}

// Types that are decoded without a decoder.
extension JSONKeyedContainer {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try object.bool(key.stringValue) { key } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try object.string(key.stringValue) { key } }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try object.double(key.stringValue) { key } }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try object.float(key.stringValue) { key } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try object.integer(type, key.stringValue) { key }
    }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try object.integer(type, key.stringValue) { key }
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try object.boolIfPresent(key.stringValue) { key }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try object.stringIfPresent(key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try object.doubleIfPresent(key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try object.floatIfPresent(key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
        try object.integerIfPresent(type, key.stringValue) { key }
    }
}
