internal import Foundation

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

extension FormNode {
    var isEmpty: Bool {
        guard case .empty = content else { return false }
        return true
    }
}
