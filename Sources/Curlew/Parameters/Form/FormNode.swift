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

    func member(_ key: String) -> FormNode {
        let node = FormNode()
        guard case .object(var members) = content else { return node }
        content = .empty
        if let index = members.firstIndex(where: { $0.key == key }) {
            members[index] = Member(key: key, node: node)
        } else {
            members.append(Member(key: key, node: node))
        }
        content = .object(members)
        return node
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
        // Without a text the node stays empty, and an empty node is not written.
        if let text = options.null.encodeNil() { content = .text(text) }
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
