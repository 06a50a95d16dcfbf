internal import CurlewCore

/// Removes the values of secret names from texts that are neither JSON nor a form: `token: abc`, `PIN=1234`, and
/// arguments in a GraphQL document, `login(password: "abc")`.
struct PairRedaction {
    enum Language { case plain, graphQL }

    private let redaction: CassetteRedaction
    private let language: Language
    private let bytes: [UInt8]
    private var position = 0
    private var clean: [UInt8] = []
    /// The comment that was skipped last. Names on one line share it, so that the line is scanned once.
    private var comment = 0..<0
    /// The indentation of the current line.
    private var indentation: Int

    init(_ text: String, _ language: Language, by redaction: CassetteRedaction) {
        self.redaction = redaction
        self.language = language
        bytes = Array(text.utf8)
        indentation = Self.indentation(of: bytes[...])
    }

    mutating func redacted() -> String {
        while position < bytes.count {
            if takeComment() || takeString() { continue }
            guard Self.isOfName(bytes[position]) else {
                clean.append(bytes[position])
                position += 1
                if Self.endsLine(bytes[position - 1]) { indentation = Self.indentation(of: bytes[position...]) }
                continue
            }
            let start = position
            position = bytes[start...].firstIndex { !Self.isOfName($0) } ?? bytes.endIndex
            clean += bytes[start..<position]
            let isDeclared = language == .graphQL && start > 0 && bytes[start - 1] == UInt8(ascii: "$")
            guard let value = isDeclared ? defaultStart() : valueStart(),
                isSecret(String(decoding: bytes[start..<position], as: UTF8.self))
            else { continue }
            clean += bytes[position..<value]
            position = value
            takeValue()
        }
        return String(decoding: clean, as: UTF8.self)
    }

    /// A comment of GraphQL is a text by itself: a quote in it begins no string. Returns `false` if none begins here.
    private mutating func takeComment() -> Bool {
        guard language == .graphQL, bytes[position] == UInt8(ascii: "#") else { return false }
        let end = bytes[position...].firstIndex(where: Self.endsLine) ?? bytes.endIndex
        var inner = PairRedaction(String(decoding: bytes[position..<end], as: UTF8.self), .plain, by: redaction)
        clean += Array(inner.redacted().utf8)
        position = end
        return true
    }

    /// Redacts the content of a GraphQL string separately: `label: "Password:"` does not name the value after it.
    /// Returns `false` if no string begins here.
    private mutating func takeString() -> Bool {
        guard language == .graphQL, bytes[position] == UInt8(ascii: "\""), let string = string(at: position) else {
            return false
        }
        let text = String(decoding: bytes[string.content], as: UTF8.self)
        var inner = PairRedaction(text, .plain, by: redaction)
        clean += string.marks + Array(inner.redacted().utf8) + bytes[string.content.upperBound..<string.end]
        position = string.end
        // The string may be a member name of truncated JSON.
        if isSecret(text), let value = valueStart() {
            clean += bytes[position..<value]
            position = value
            takeValue()
        }
        return true
    }

    /// Whether a name is secret. A plain text may be a dump of header fields, so their names count too.
    private func isSecret(_ name: String) -> Bool {
        redaction.isSecret(name) || language == .plain && redaction.isSecretField(name)
    }

    /// Returns the start of the value that follows the name before `position`, or `nil` if no value follows.
    private mutating func valueStart() -> Int? {
        var index = position
        if language == .plain {
            // The name may be in quotes, in a text with escapes, or in brackets: `card["pin"][0]`.
            index += bytes[index...].prefix(16).prefix { "\\\"'[]0123456789".utf8.contains($0) }.count
        }
        index = afterBlanks(index)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: "=") else {
            return nil
        }
        index += 1
        if index < bytes.count, bytes[index] == UInt8(ascii: ">") { index += 1 }
        index = afterBlanks(index)
        if language == .plain, index < bytes.count, let below = indentedLine(from: index) { index = below.lowerBound }
        return index < bytes.count ? index : nil
    }

    /// Returns the start of the default of a declared GraphQL variable, `$password: String! = "abc"`, or `nil` if it
    /// has none.
    private mutating func defaultStart() -> Int? {
        guard var index = valueStart() else { return nil }
        while index < bytes.count, Self.isOfName(bytes[index]) || "[]!".utf8.contains(bytes[index]) {
            index = afterBlanks(index + 1)
        }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return nil }
        index = afterBlanks(index + 1)
        return index < bytes.count ? index : nil
    }

    private mutating func takeValue() {
        takeOneValue()
        while language == .graphQL, skipToDefault() { takeOneValue() }
    }

    private mutating func takeOneValue() {
        if let string = string(at: position) {
            clean += string.marks + Array(CassetteRedaction.replacement.utf8) + string.marks
            position = string.end
            // Some formats double a quote instead of escaping it: `'s3c''ret'`.
            if language == .plain { skip(to: " \t\r\n,;})]") }
            return
        }
        switch bytes[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            takeGroup()
            if language == .plain { skip(to: "\r\n,;})]") }
            // The `!` belongs to a type; see `skipToDefault`.
            if language == .graphQL, position < bytes.count, bytes[position] == UInt8(ascii: "!") { position += 1 }
        // The value of a variable is in the request's variables, not here.
        case UInt8(ascii: "$") where language == .graphQL: break
        default: takeWord()
        }
    }

    private mutating func skip(to ends: String) {
        position = bytes[position...].firstIndex { ends.utf8.contains($0) } ?? bytes.endIndex
    }

    /// Skips to the default of a field or an argument: in `pin: String! = "1234"`, a type precedes the value. Returns
    /// `false` if no default follows.
    private mutating func skipToDefault() -> Bool {
        var index = afterBlanks(position)
        if index < bytes.count, bytes[index] == UInt8(ascii: "!") { index = afterBlanks(index + 1) }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return false }
        index = afterBlanks(index + 1)
        clean += bytes[position..<index]
        position = index
        return position < bytes.count
    }

    /// Returns the string that begins at an index: its quotes, its content and its end. It ends after the next equal
    /// quotes without a preceding backslash, or at the end of the text.
    private func string(at start: Int) -> (marks: [UInt8], content: Range<Int>, end: Int)? {
        let all = language == .graphQL ? ["\"\"\"", "\\\"", "\""] : ["\"\"\"", "\\\"", "\"", "'"]
        guard let marks = all.first(where: { bytes[start...].starts(with: $0.utf8) }).map({ Array($0.utf8) }) else {
            return nil
        }
        var index = start + marks.count
        let content = index
        while index < bytes.count {
            if bytes[index...].starts(with: marks) {
                // `'it''s'`: some formats double a quote instead of escaping it.
                guard language == .plain, marks.count == 1, index > content, bytes[(index + 1)...].first == marks[0]
                else { break }
                index += 2
            } else if language == .graphQL, marks.count == 1, Self.endsLine(bytes[index]) {
                // Such a string has no line ends: this one is not closed.
                return (marks, content..<index, index)
            } else if marks.count == 3 {
                // A block string has no other escape.
                index += bytes[index...].starts(with: #"\""""#.utf8) ? 4 : 1
            } else {
                index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
            }
        }
        index = min(index, bytes.count)
        return (marks, content..<index, min(index + marks.count, bytes.count))
    }

    private mutating func takeGroup() {
        var depth = 0
        repeat {
            if let string = string(at: position) {
                position = string.end
                continue
            }
            switch bytes[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "#") where language == .graphQL:
                position = afterBlanks(position)
                continue
            default: break
            }
            position += 1
        } while depth > 0 && position < bytes.count
        clean += Array(CassetteRedaction.replacement.utf8)
    }

    /// Replaces an unquoted value. In plain text it extends to the end of the line, because a value such as
    /// `Authorization: Digest username="a", response="…"` has several words, and over following lines that are indented
    /// more than the name's. In GraphQL it ends at a separator, or before the arguments of a field whose alias is a
    /// secret name.
    private mutating func takeWord() {
        let start = position
        if language == .graphQL {
            skip(to: " \t\r\n,()}]=")
        } else {
            skip(to: "\r\n")
            while let below = indentedLine(from: position) { position = below.upperBound }
        }
        if position > start { clean += Array(CassetteRedaction.replacement.utf8) }
    }

    // MARK: Lines

    private static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// Returns the indentation of the line at the start of the bytes. List markers count as blanks, as in YAML.
    private static func indentation(of bytes: ArraySlice<UInt8>) -> Int {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let isMarker =
                bytes[index] == UInt8(ascii: "-") && bytes[(index + 1)...].first.map(CassetteRedaction.isSpace) ?? true
            guard isMarker || ASCII.isBlank(bytes[index]) else { break }
            index += 1
        }
        return index - bytes.startIndex
    }

    /// Returns the next non-blank line without its indentation; `nil` if no line ends at `end`, or if that line is not
    /// indented more than the current one.
    private func indentedLine(from end: Int) -> Range<Int>? {
        guard let first = bytes[end...].firstIndex(where: { !CassetteRedaction.isSpace($0) }),
            let lineEnd = bytes[end..<first].lastIndex(where: Self.endsLine)
        else { return nil }
        let below = Self.indentation(of: bytes[(lineEnd + 1)...])
        guard below > indentation else { return nil }
        let start = lineEnd + 1 + below
        return start..<(bytes[start...].firstIndex(where: Self.endsLine) ?? bytes.endIndex)
    }

    /// Returns the index after blanks. In GraphQL, line ends, commas, comments and byte order marks are skipped too.
    private mutating func afterBlanks(_ start: Int) -> Int {
        guard language == .graphQL else {
            return bytes[min(start, bytes.count)...].firstIndex { !ASCII.isBlank($0) } ?? bytes.endIndex
        }
        var index = start
        while index < bytes.count {
            if CassetteRedaction.isSpace(bytes[index]) || bytes[index] == UInt8(ascii: ",") {
                index += 1
            } else if bytes[index] == UInt8(ascii: "#") {
                if !comment.contains(index) {
                    comment = index..<(bytes[index...].firstIndex(where: Self.endsLine) ?? bytes.endIndex)
                }
                index = comment.upperBound
            } else if bytes[index...].starts(with: [0xEF, 0xBB, 0xBF]) {
                index += 3
            } else {
                break
            }
        }
        return min(index, bytes.count)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || ASCII.isAlpha(byte) || "_-.".utf8.contains(byte)
    }
}
