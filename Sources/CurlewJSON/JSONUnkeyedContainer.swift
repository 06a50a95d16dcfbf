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
