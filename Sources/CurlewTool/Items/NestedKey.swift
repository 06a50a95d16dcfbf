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
