/// The `Encoder` that fills one node.
struct FormEncoding: Encoder {
    let node: FormNode
    let options: FormValueOptions
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(FormKeyedContainer<Key>(encoding: self))
    }

    /// The node becomes an array only with its first element, so that a value that it already has stays until then.
    func unkeyedContainer() -> any UnkeyedEncodingContainer { FormUnkeyedContainer(encoding: self) }

    func singleValueContainer() -> any SingleValueEncodingContainer { FormSingleValueContainer(encoding: self) }

    func nested(_ node: FormNode, _ key: any CodingKey) -> FormEncoding {
        FormEncoding(node: node, options: options, codingPath: codingPath + [key])
    }
}

struct FormSingleValueContainer: SingleValueEncodingContainer {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    mutating func encodeNil() throws { encoding.node.encodeNil(encoding.options) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try encoding.node.encode(value, options: encoding.options, codingPath: codingPath)
    }
}

/// An array's index as a coding key.
struct FormIndex: CodingKey {
    let index: Int
    var stringValue: String { "\(index)" }
    var intValue: Int? { index }

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) {
        guard let index = Int(stringValue) else { return nil }
        self.index = index
    }
}
