internal import Foundation

/// A value that is being encoded into a form. A class, because a container fills the node after its parent has stored
/// it.
///
///     value ── FormNodeEncoder ──▶ a tree of FormNodes ── FormWriter ──▶ a%5Bb%5D=1&c=2
final class FormNode {
    enum Content {
        case empty
        case text(String)
        case array([FormNode])
        case object(Members)
    }

    struct Member {
        let key: String
        let node: FormNode
    }

    /// The members of an object, in the order in which their keys were first encoded.
    struct Members {
        private(set) var list: [Member] = []
        /// The index of each key in `list`. Empty while there are fewer than `linearSearchLimit` members, which are
        /// searched one by one.
        private var places: [String: Int] = [:]

        private static let linearSearchLimit = 16

        /// Returns the node of a key. An existing key keeps its node, so that a container that is opened twice fills
        /// one node.
        mutating func node(of key: String) -> FormNode {
            if let place = place(of: key) { return list[place].node }
            let node = FormNode()
            list.append(Member(key: key, node: node))
            if list.count >= Self.linearSearchLimit {
                for place in places.count..<list.count { places[list[place].key] = place }
            }
            return node
        }

        private func place(of key: String) -> Int? {
            list.count < Self.linearSearchLimit ? list.firstIndex { $0.key == key } : places[key]
        }
    }

    private(set) var content = Content.empty

    var isEmpty: Bool {
        guard case .empty = content else { return false }
        return true
    }

    /// Keeps an existing object, because a subclass may open its parent's container again.
    func becomeObject() {
        if case .object = content { return }
        content = .object(Members())
    }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    func member(_ key: String) -> FormNode {
        guard case .object(var members) = content else { return FormNode() }
        // Emptied, so that the members are changed in place and not copied.
        content = .empty
        defer { content = .object(members) }
        return members.node(of: key)
    }

    /// The number of elements. 0 if the node is not an array.
    var elementCount: Int {
        guard case .array(let elements) = content else { return 0 }
        return elements.count
    }

    func element() -> FormNode {
        let node = FormNode()
        guard case .array(var elements) = content else { return node }
        content = .empty
        elements.append(node)
        content = .array(elements)
        return node
    }

    func encodeNil(_ options: FormValueOptions) {
        // Without a text the node is empty, and empty nodes are not written.
        content = options.null.encodeNil().map(Content.text) ?? .empty
    }

    /// Encodes a value for a key, in place of one that was encoded for the key before.
    func replace<T: Encodable>(with value: T, options: FormValueOptions, codingPath: [any CodingKey]) throws {
        content = .empty
        try encode(value, options: options, codingPath: codingPath)
    }

    func encode<T: Encodable>(_ value: T, options: FormValueOptions, codingPath: [any CodingKey]) throws {
        if let text = try text(of: value, options: options) {
            content = .text(text)
        } else {
            try value.encode(to: FormNodeEncoder(node: self, options: options, codingPath: codingPath))
        }
    }

    private func text<T: Encodable>(of value: T, options: FormValueOptions) throws -> String? {
        switch value {
        case let string as String: string
        case let bool as Bool: options.bool.encode(bool)
        case let integer as any FixedWidthInteger: "\(integer)"
        case let double as Double: "\(double)"
        case let float as Float: "\(float)"
        case let date as Date: try options.date.encode(date)
        case let data as Data: try options.data.encode(data)
        case let decimal as Decimal: "\(decimal)"
        // Otherwise a URL would be encoded as an object of its base and its relative part.
        case let url as URL: url.absoluteString
        default: nil
        }
    }
}

/// Writes a tree of nodes as key-value pairs.
struct FormWriter {
    private let alphabetizes: Bool
    private let array: URLEncodedFormEncoder.ArrayEncoding
    private let key: URLEncodedFormEncoder.KeyEncoding
    private let keyPath: URLEncodedFormEncoder.KeyPathEncoding
    private let space: URLEncodedFormEncoder.SpaceEncoding
    private let escaping: QueryEscaping

    /// A pair. Its key ends with `=`, so that sorting puts a nested key before the key that it begins with.
    private struct Pair {
        let key: String
        let value: String
    }

    init(_ encoder: URLEncodedFormEncoder, escaping: QueryEscaping) {
        alphabetizes = encoder.settings.alphabetizeKeyValuePairs
        array = encoder.settings.arrayEncoding
        key = encoder.settings.keyEncoding
        keyPath = encoder.settings.keyPathEncoding
        space = encoder.settings.spaceEncoding
        self.escaping = escaping
    }

    func text(of members: [FormNode.Member]) -> String {
        arranged(members.map { pairs($0.node, $0.key) }).map { $0.key + $0.value }.joined(separator: "&")
    }

    private func pairs(_ node: FormNode, _ name: String) -> [Pair] {
        switch node.content {
        case .empty: []
        case .text(let text): [Pair(key: escape(key.encode(name)) + "=", value: escape(text))]
        case .array(let elements):
            arranged(
                elements.filter { !$0.isEmpty }.enumerated().map { pairs($1, array.encode(name, atIndex: $0)) }
            )
        case .object(let members):
            arranged(members.list.map { pairs($0.node, name + keyPath.encodeKeyPath($0.key)) })
        }
    }

    // Sorts whole groups by their first key: the members of one array element stay together, and elements with equal
    // keys keep their order.
    private func arranged(_ groups: [[Pair]]) -> [Pair] {
        let groups = groups.filter { !$0.isEmpty }
        guard alphabetizes else { return groups.flatMap { $0 } }
        return groups.enumerated().sorted { lhs, rhs in
            let (left, right) = (lhs.element[0].key, rhs.element[0].key)
            return left == right ? lhs.offset < rhs.offset : left < right
        }.flatMap(\.element)
    }

    private func escape(_ text: String) -> String {
        switch space {
        case .percentEscaped: escaping.escape(text)
        // Plus signs in the text itself are percent-encoded, so each `+` of the result is a space.
        case .plusReplaced:
            text.split(separator: " ", omittingEmptySubsequences: false)
                .map { escaping.escape(String($0)) }.joined(separator: "+")
        }
    }
}

/// The `Encoder` that fills one node.
struct FormNodeEncoder: Encoder {
    let node: FormNode
    let options: FormValueOptions
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(FormKeyedContainer<Key>(encoder: self))
    }

    /// The node becomes an array only with its first element, so that a value that it already has stays until then.
    func unkeyedContainer() -> any UnkeyedEncodingContainer { FormUnkeyedContainer(encoder: self) }

    func singleValueContainer() -> any SingleValueEncodingContainer { FormSingleValueContainer(encoder: self) }

    func nested(_ node: FormNode, _ key: any CodingKey) -> FormNodeEncoder {
        FormNodeEncoder(node: node, options: options, codingPath: codingPath + [key])
    }
}

private struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FormNodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func member(_ key: Key) -> FormNodeEncoder { encoder.nested(encoder.node.member(key.stringValue), key) }

    mutating func encodeNil(forKey key: Key) throws { member(key).node.encodeNil(encoder.options) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let member = member(key)
        try member.node.replace(with: value, options: encoder.options, codingPath: member.codingPath)
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
    mutating func superEncoder() -> any Encoder { encoder }

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
    let encoder: FormNodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.elementCount }

    init(encoder: FormNodeEncoder) { self.encoder = encoder }

    private mutating func element() -> FormNodeEncoder {
        encoder.node.becomeArray()
        let index = FormIndex(count)
        return encoder.nested(encoder.node.element(), index)
    }

    mutating func encodeNil() throws { element().node.encodeNil(encoder.options) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let element = element()
        try element.node.encode(value, options: encoder.options, codingPath: element.codingPath)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }

    /// Encodes the parent in place of the array, as a keyed container does, unless the array already has elements.
    mutating func superEncoder() -> any Encoder { count == 0 ? encoder : element() }
}

private struct FormSingleValueContainer: SingleValueEncodingContainer {
    let encoder: FormNodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    mutating func encodeNil() throws { encoder.node.encodeNil(encoder.options) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try encoder.node.encode(value, options: encoder.options, codingPath: codingPath)
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
