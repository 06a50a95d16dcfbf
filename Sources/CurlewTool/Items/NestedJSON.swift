/// Builds one JSON document from data items with nested keys.
enum NestedJSON {
    static func build(_ items: [(key: String, value: JSONValue)]) throws(NestedKeyError) -> JSONValue {
        var root: JSONValue?
        for (text, value) in items {
            let key = try NestedKey(parsing: text)
            root = try set(value, at: key.steps[...], of: key, in: root)
        }
        return root ?? .object(JSONObject())
    }

    private static func set(
        _ value: JSONValue,
        at path: ArraySlice<NestedKey.Located>,
        of key: NestedKey,
        in container: JSONValue?
    ) throws(NestedKeyError) -> JSONValue {
        guard let first = path.first else { return value }
        let rest = path.dropFirst()
        switch first.step {
        case .key(let name):
            var object = JSONObject()
            switch container {
            case nil, .null: break
            case .object(let existing): object = existing
            case .some(let other): throw mismatch(first, of: key, access: "key", found: other, needed: "object")
            }
            object[name] = try set(value, at: rest, of: key, in: object[name])
            return .object(object)
        case .index(let index):
            var elements = try list(container, for: first, of: key, access: "index")
            while elements.count <= index { elements.append(.null) }
            elements[index] = try set(value, at: rest, of: key, in: elements[index])
            return .array(elements)
        case .append:
            var elements = try list(container, for: first, of: key, access: "append")
            elements.append(try set(value, at: rest, of: key, in: nil))
            return .array(elements)
        }
    }

    private static func list(
        _ container: JSONValue?,
        for step: NestedKey.Located,
        of key: NestedKey,
        access: String
    ) throws(NestedKeyError) -> [JSONValue] {
        switch container {
        case nil, .null: return []
        case .array(let elements): return elements
        case .some(let other): throw mismatch(step, of: key, access: access, found: other, needed: "array")
        }
    }

    private static func mismatch(
        _ step: NestedKey.Located,
        of key: NestedKey,
        access: String,
        found: JSONValue,
        needed: String
    ) -> NestedKeyError {
        let parent = String(key.text.prefix(step.range.lowerBound))
        return NestedKeyError(
            kind: .type,
            message: "Cannot perform '\(access)' based access on '\(parent)' which has a type of '\(found.typeName)' "
                + "but this operation requires a type of '\(needed)'.",
            key: key.text,
            range: step.range
        )
    }
}
