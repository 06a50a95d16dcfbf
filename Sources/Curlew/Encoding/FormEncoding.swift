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

private struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    private func member(_ key: Key) -> FormEncoding { encoding.nested(encoding.node.member(key.stringValue), key) }

    mutating func encodeNil(forKey key: Key) throws { member(key).node.encodeNil(encoding.options) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let member = member(key)
        try member.node.replace(with: value, options: encoding.options, codingPath: member.codingPath)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        member(key).container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        member(key).unkeyedContainer()
    }

    /// Encodes the parent's members among the child's, because forms have no key `super`.
    mutating func superEncoder() -> any Encoder { encoding }

    mutating func superEncoder(forKey key: Key) -> any Encoder { member(key) }

    // The defaults of the standard library leave out nil values; the options may want them written.

    private mutating func encodeOptional<T: Encodable>(_ value: T?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }

    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try encodeOptional(value, key) }
}

private struct FormUnkeyedContainer: UnkeyedEncodingContainer {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }
    var count: Int { encoding.node.elementCount }

    init(encoding: FormEncoding) { self.encoding = encoding }

    private mutating func element() -> FormEncoding {
        encoding.node.becomeArray()
        let index = FormIndex(count)
        return encoding.nested(encoding.node.element(), index)
    }

    mutating func encodeNil() throws { element().node.encodeNil(encoding.options) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let element = element()
        try element.node.encode(value, options: encoding.options, codingPath: element.codingPath)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }

    /// Encodes the parent in place of the array, as a keyed container does, unless the array already has elements.
    mutating func superEncoder() -> any Encoder { count == 0 ? encoding : element() }
}

private struct FormSingleValueContainer: SingleValueEncodingContainer {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    mutating func encodeNil() throws { encoding.node.encodeNil(encoding.options) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try encoding.node.encode(value, options: encoding.options, codingPath: codingPath)
    }
}

/// An array's index as a coding key.
private struct FormIndex: CodingKey {
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
