internal import Foundation

/// A value on its way into a form. A class, because a container goes on filling it after its parent has it.
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

    /// The members of an object, in the order in which their keys came.
    struct Members {
        private(set) var list: [Member] = []
        /// Where each key stands, once that is quicker than a look at each member.
        private var places: [String: Int] = [:]

        private static let few = 16

        /// The node of a key: the one that is there, so that a container opened twice goes on filling the same one.
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

    /// What is asked for twice goes on where it was: a subclass may open its parent's container again.
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
        // Changed in place, not in a copy of what lies here.
        content = .empty
        defer { content = .object(members) }
        return members.node(of: key)
    }

    /// How many elements an array has.
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
        // Without a text the node is empty, and an empty node is not written.
        content = options.null.encodeNil().map(Content.text) ?? .empty
    }

    /// A value encoded for a key takes the place of an earlier one.
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
        // Otherwise it would be written as an object of base and relative part.
        case let url as URL: url.absoluteString
        default: nil
        }
    }
}
