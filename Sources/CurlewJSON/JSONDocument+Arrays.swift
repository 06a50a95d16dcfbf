/// The types of arrays that are decoded without a decoder for each element.
enum JSONPrimitive {
    case strings, integers, doubles, floats, bools, wideIntegers, bytes

    private struct Types {
        let strings = ObjectIdentifier([String].self)
        let integers = ObjectIdentifier([Int].self)
        let doubles = ObjectIdentifier([Double].self)
        let floats = ObjectIdentifier([Float].self)
        let bools = ObjectIdentifier([Bool].self)
        let wideIntegers = ObjectIdentifier([Int64].self)
        let bytes = ObjectIdentifier([UInt8].self)
    }

    // Stored, because the runtime looks up the metadata of an array type each time.
    private static let types = Types()

    init?(_ type: any Any.Type) {
        let (identifier, types) = (ObjectIdentifier(type), Self.types)
        switch identifier {
        case types.strings: self = .strings
        case types.integers: self = .integers
        case types.doubles: self = .doubles
        case types.floats: self = .floats
        case types.bools: self = .bools
        case types.wideIntegers: self = .wideIntegers
        case types.bytes: self = .bytes
        default: return nil
        }
    }
}

extension JSONDocument {
    /// Returns the elements of an array; `nil` if one of them is of another kind. Decoding with a container then throws
    /// the right error.
    func array<Element>(at place: Int, _ element: (JSONDocument, Int) throws -> Element?) throws -> [Element]? {
        let header = word(at: place)
        var elements: [Element] = []
        elements.reserveCapacity(header.count)
        var place = place + 1
        while place < header.end {
            guard let value = try element(self, place) else { return nil }
            elements.append(value)
            place = self.place(after: place)
        }
        return elements
    }

    func strings(at place: Int) throws -> [String]? { try array(at: place) { try $0.string(at: $1) } }
    func doubles(at place: Int) throws -> [Double]? { try array(at: place) { try $0.double(at: $1) } }
    func floats(at place: Int) throws -> [Float]? { try array(at: place) { try $0.float(at: $1) } }
    func bools(at place: Int) throws -> [Bool]? { try array(at: place) { $0.bool(at: $1) } }
    func integers<T: FixedWidthInteger & Decodable>(_ type: T.Type, at place: Int) throws -> [T]? {
        try array(at: place) { try $0.integer(type, at: $1) }
    }
}

// Arrays of other types are decoded as by `Array.init(from:)`, without a container.

protocol DecodableArray {
    /// Decodes an array. `type` must be the conforming type itself.
    static func make<T>(_ type: T.Type, _ document: JSONDocument, _ array: Int, _ path: JSONPath) throws -> T
}

extension Array: DecodableArray where Element: Decodable {
    static func make<T>(_ type: T.Type, _ document: JSONDocument, _ array: Int, _ path: JSONPath) throws -> T {
        let header = document.word(at: array)
        var elements: [Element] = []
        elements.reserveCapacity(Swift.min(header.count, JSONReservation.bytes / MemoryLayout<Element>.stride))
        var place = array + 1
        while place < header.end {
            let index = elements.count
            elements.append(
                try document.decode(Element.self, at: place, under: path) { path.appending(element: index) })
            place = document.place(after: place)
        }
        // SAFETY: the types are the same.
        return unsafeBitCast(elements, to: type)
    }
}

/// The limit of the memory that is reserved ahead. Otherwise a text with two bytes for each element could reserve the
/// size of a large type for each of them.
enum JSONReservation {
    static let bytes = 1 << 20
}
