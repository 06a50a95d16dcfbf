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
