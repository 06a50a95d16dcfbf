internal import Foundation

/// A value that is being encoded into a form. A class, because a container fills the node after its parent has stored
/// it.
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
        /// The index of each key in `list`. Empty while there are fewer than `few` members, which are searched one by
        /// one.
        private var places: [String: Int] = [:]

        private static let few = 16

        /// Returns the node of a key. An existing key keeps its node, so that a container that is opened twice fills
        /// one node.
        mutating func node(of key: String) -> FormNode {
            if let place = place(of: key) { return list[place].node }
            let node = FormNode()
            list.append(Member(key: key, node: node))
            if list.count >= Self.few {
                for place in places.count..<list.count { places[list[place].key] = place }
            }
            return node
        }

        private func place(of key: String) -> Int? {
            list.count < Self.few ? list.firstIndex { $0.key == key } : places[key]
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
            try value.encode(to: FormEncoding(node: self, options: options, codingPath: codingPath))
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
