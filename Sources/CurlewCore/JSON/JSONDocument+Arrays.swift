/// The arrays that need no decoder for each element.
enum JSONPrimitive {
    case strings, integers, doubles, floats, bools, wideIntegers, bytes

    // Kept, since the metadata of an array type is looked up in a table each time.
    private static let types: [(ObjectIdentifier, JSONPrimitive)] = [
        (ObjectIdentifier([String].self), .strings), (ObjectIdentifier([Int].self), .integers),
        (ObjectIdentifier([Double].self), .doubles), (ObjectIdentifier([Float].self), .floats),
        (ObjectIdentifier([Bool].self), .bools), (ObjectIdentifier([Int64].self), .wideIntegers),
        (ObjectIdentifier([UInt8].self), .bytes),
    ]

    @inline(__always)
    init?(_ type: any Any.Type) {
        let identifier = ObjectIdentifier(type)
        for (other, primitive) in Self.types where identifier == other {
            self = primitive
            return
        }
        return nil
    }
}

extension JSONDocument {
    /// An array of values that need no decoder; nil where an element is of another type: the usual way then says what
    /// is wrong.
    @inline(__always)
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

    @inline(never)
    func strings(at place: Int) throws -> [String]? { try array(at: place) { try $0.string(at: $1) } }
    @inline(never)
    func doubles(at place: Int) throws -> [Double]? { try array(at: place) { try $0.double(at: $1) } }
    @inline(never)
    func floats(at place: Int) throws -> [Float]? { try array(at: place) { try $0.float(at: $1) } }
    @inline(never)
    func bools(at place: Int) throws -> [Bool]? { try array(at: place) { $0.bool(at: $1) } }
    @inline(never)
    func integers<T: FixedWidthInteger & Decodable>(_ type: T.Type, at place: Int) throws -> [T]? {
        try array(at: place) { try $0.integer(type, at: $1) }
    }
}
