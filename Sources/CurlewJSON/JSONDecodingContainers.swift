/// The decoder of one value, and its single-value container.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    let path: JSONPath
    private let position: UInt32

    init(document: JSONDocument, path: JSONPath, place: Int) {
        self.document = document
        self.path = path
        position = UInt32(truncatingIfNeeded: place)
    }

    private var place: Int { Int(position) }
    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { document.decoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try document.container(keyedBy: type, at: place, path)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try document.unkeyedContainer(at: place, path)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { document.word(at: place).kind == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard let bool = document.bool(at: place) else { throw document.mismatch(type, at: place, path) }
        return bool
    }

    func decode(_ type: String.Type) throws -> String {
        guard let string = try document.string(at: place) else { throw document.mismatch(type, at: place, path) }
        return string
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard let double = try document.double(at: place) else { throw document.mismatch(type, at: place, path) }
        return double
    }

    func decode(_ type: Float.Type) throws -> Float {
        guard let float = try document.float(at: place) else { throw document.mismatch(type, at: place, path) }
        return float
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        guard let integer = try document.integer(type, at: place) else {
            throw document.mismatch(type, at: place, path)
        }
        return integer
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try document.decode(type, at: place, under: path) { path }
    }
}

extension JSONDocument {
    func bool(at place: Int) -> Bool? {
        switch word(at: place).kind {
        case .true: true
        case .false: false
        case .null, .integer, .number, .plainString, .simpleString, .escapedString, .array, .object, .indexedObject: nil
        }
    }

    /// Returns the container of an object.
    func container<Key: CodingKey>(
        keyedBy type: Key.Type,
        at place: Int,
        _ path: JSONPath
    ) throws -> KeyedDecodingContainer<Key> {
        let kind = word(at: place).kind
        guard kind.isObject else { throw noContainer([String: Any].self, "keyed", at: place, path) }
        let index =
            usesDefaultKeys && kind == .object ? nil : try JSONKeyIndex(self, object: place, path)
        return KeyedDecodingContainer(JSONKeyedContainer<Key>(object: JSONFields(self, at: place, path, index: index)))
    }

    /// Returns the container of an array.
    func unkeyedContainer(at place: Int, _ path: JSONPath) throws -> any UnkeyedDecodingContainer {
        guard word(at: place).kind == .array else { throw noContainer([Any].self, "unkeyed", at: place, path) }
        return JSONUnkeyedContainer(document: self, path: path, array: place)
    }

    private func noContainer(_ type: Any.Type, _ name: String, at place: Int, _ path: JSONPath) -> DecodingError {
        guard word(at: place).kind == .null else { return mismatch(type, at: place, path) }
        return .valueNotFound(
            type,
            .init(
                codingPath: path.keys,
                debugDescription: "Cannot get \(name) decoding container -- found null value instead"))
    }
}

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

/// The container of an array.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private let document: JSONDocument
    private let path: JSONPath
    private let array: Int
    /// The place of the next element.
    private var place: Int
    private(set) var currentIndex = 0

    init(document: JSONDocument, path: JSONPath, array: Int) {
        self.document = document
        self.path = path
        self.array = array
        place = array + 1
    }

    var codingPath: [any CodingKey] { path.keys }
    var count: Int? { document.word(at: array).count }
    var isAtEnd: Bool { currentIndex >= document.word(at: array).count }

    /// Returns the place of the next element, or throws if there is none.
    private func next(_ type: Any.Type) throws -> Int {
        if place < document.word(at: array).end { return place }
        throw atEnd(type)
    }

    private func atEnd(_ type: Any.Type) -> DecodingError {
        let message =
            type == (any Decoder).self
            ? "Cannot get superDecoder() -- unkeyed container is at end." : "Unkeyed container is at end."
        let keys = path.keys + [JSONKey(element: currentIndex)]
        return .valueNotFound(type, .init(codingPath: keys, debugDescription: message))
    }

    private mutating func advance() {
        currentIndex &+= 1
        if place < document.word(at: array).end { place = document.place(after: place) }
    }

    private var elementPath: JSONPath { path.appending(element: currentIndex) }

    mutating func decodeNil() throws -> Bool {
        guard document.word(at: try next(Never.self)).kind == .null else { return false }
        advance()
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try document.decode(type, at: next(type), under: path) { elementPath }
        advance()
        return value
    }

    mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        try skipsNull() ? nil : decode(type)
    }

    /// Whether the next element is null, which is then skipped. Also true at the end, where the index advances as
    /// Foundation's does.
    private mutating func skipsNull() -> Bool {
        guard place >= document.word(at: array).end || document.word(at: place).kind == .null else { return false }
        advance()
        return true
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let place = try next(KeyedDecodingContainer<NestedKey>.self)
        let container = try document.container(
            keyedBy: type, at: place, path.nesting(JSONKey(element: currentIndex)))
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let place = try next((any UnkeyedDecodingContainer).self)
        let container = try document.unkeyedContainer(at: place, path.nesting(JSONKey(element: currentIndex)))
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let place = try next((any Decoder).self)
        let decoder = JSONValueDecoder(document: document, path: elementPath, place: place)
        advance()
        return decoder
    }
}

// Types that are decoded without a decoder.
extension JSONUnkeyedContainer {
    mutating func decode(_ type: Bool.Type) throws -> Bool {
        let place = try next(type)
        guard let value = document.bool(at: place) else { throw document.mismatch(type, at: place, elementPath) }
        advance()
        return value
    }

    mutating func decode(_ type: String.Type) throws -> String {
        let place = try next(type)
        guard let value = try document.string(at: place) else { throw document.mismatch(type, at: place, elementPath) }
        advance()
        return value
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        let place = try next(type)
        guard let value = try document.double(at: place) else { throw document.mismatch(type, at: place, elementPath) }
        advance()
        return value
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        let place = try next(type)
        guard let value = try document.float(at: place) else { throw document.mismatch(type, at: place, elementPath) }
        advance()
        return value
    }

    mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    private mutating func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        let place = try next(type)
        guard let value = try document.integer(type, at: place) else {
            throw document.mismatch(type, at: place, elementPath)
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: String.Type) throws -> String? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? { try skipsNull() ? nil : decode(type) }
    mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? { try skipsNull() ? nil : decode(type) }
}
