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

/// The path in a data item's key: `a[b][0][]`.
struct NestedKey: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case key(String)
        case index(Int)
        case append
    }

    /// A step and its position in the text, for error messages.
    struct Located: Equatable, Sendable {
        let step: Step
        let range: Range<Int>
    }

    let text: String
    let steps: [Located]

    /// Parses the key. A backslash before `[`, `]`, `\` or a digit makes that character part of the name.
    init(parsing text: String) throws(NestedKeyError) {
        var scanner = Scanner(text)
        self.text = text
        steps = try scanner.steps()
    }

    private struct Scanner {
        let text: String
        let characters: [Character]
        var position = 0

        init(_ text: String) {
            self.text = text
            characters = Array(text)
        }

        func failure(_ message: String, at range: Range<Int>? = nil) -> NestedKeyError {
            NestedKeyError(kind: .syntax, message: message, key: text, range: range ?? position..<(position + 1))
        }

        mutating func steps() throws(NestedKeyError) -> [Located] {
            var steps: [Located] = []
            if characters.first != "[" {
                let (name, _) = word()
                steps.append(Located(step: .key(name), range: 0..<max(1, position)))
            }
            while position < characters.count {
                guard characters[position] == "[" else { throw failure("Expecting '['") }
                guard steps.count < JSONParser.maximumDepth else { throw failure("Nested too deeply") }
                steps.append(try bracketed())
            }
            return steps
        }

        /// Reads up to the next bracket. `isEscaped` is true if a backslash escaped a character: `[\1]` is a key, not
        /// an index.
        private mutating func word() -> (text: String, isEscaped: Bool) {
            var word = ""
            var isEscaped = false
            while position < characters.count {
                let character = characters[position]
                if character == "[" || character == "]" { break }
                if character == "\\", position + 1 < characters.count {
                    let next = characters[position + 1]
                    if next == "[" || next == "]" || next == "\\" || next.isASCII && next.isWholeNumber {
                        isEscaped = true
                        position += 1
                    }
                }
                word.append(characters[position])
                position += 1
            }
            return (word, isEscaped)
        }

        private mutating func bracketed() throws(NestedKeyError) -> Located {
            let start = position
            position += 1
            if position < characters.count, characters[position] == "]" {
                position += 1
                return Located(step: .append, range: start..<position)
            }
            let wordStart = position
            let (word, isEscaped) = word()
            guard position > wordStart else { throw failure("Expecting a text, a number or ']'") }
            guard position < characters.count, characters[position] == "]" else { throw failure("Expecting ']'") }
            let wordRange = wordStart..<position
            position += 1
            guard !isEscaped, let number = Int(word), word.first != "+" else {
                return Located(step: .key(word), range: start..<position)
            }
            guard number >= 0 else {
                throw NestedKeyError(
                    kind: .value, message: "Negative indexes are not supported.", key: text, range: wordRange)
            }
            // Gaps are filled with null, so a mistyped index could exhaust the memory.
            guard number <= 9999 else {
                throw NestedKeyError(
                    kind: .value, message: "Indexes above 9999 are not supported.", key: text, range: wordRange)
            }
            return Located(step: .index(number), range: start..<position)
        }
    }
}

/// An error in a nested key, with its position.
struct NestedKeyError: Error, Equatable, Sendable {
    enum Kind: String, Sendable {
        case syntax = "Syntax error"
        case type = "Type error"
        case value = "Value error"
    }

    let kind: Kind
    let message: String
    let key: String
    /// The faulty part, in characters of `key`.
    let range: Range<Int>

    /// The message, the key, and carets under the faulty part.
    var description: String {
        let before = Columns.count(key.prefix(range.lowerBound))
        let marked = Columns.count(key.dropFirst(range.lowerBound).prefix(range.count))
        let marks = String(repeating: " ", count: before) + String(repeating: "^", count: max(1, marked))
        return "\(kind.rawValue): \(message)\n\(key)\n\(marks)"
    }
}
