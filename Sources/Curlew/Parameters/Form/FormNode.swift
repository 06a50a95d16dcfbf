internal import Foundation

/// A value on its way into a form. A class, because a container goes on filling it after its parent has it.
final class FormNode {
    enum Content {
        case empty
        case text(String)
        case array([FormNode])
        case object([Member])
    }

    struct Member {
        let key: String
        let node: FormNode
    }

    private(set) var content = Content.empty

    /// What is asked for twice goes on where it was: a subclass may open its parent's container again.
    func becomeObject() {
        if case .object = content { return }
        content = .object([])
    }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    /// The node of a key: the one that is there, so that a container opened twice goes on filling the same one.
    func member(_ key: String) -> FormNode {
        guard case .object(var members) = content else { return FormNode() }
        if let member = members.first(where: { $0.key == key }) { return member.node }
        let node = FormNode()
        content = .empty
        members.append(Member(key: key, node: node))
        content = .object(members)
        return node
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
