internal import CurlewCore

/// Takes the values of secret names out of texts that are no JSON and no form: `token: abc`, `PIN=1234`, and the arguments in a
/// GraphQL document, `login(password: "abc")`.
struct PairRedaction {
    enum Language { case plain, graphQL }

    private let redaction: CassetteRedaction
    private let language: Language
    private let bytes: [UInt8]
    private var position = 0
    private var clean: [UInt8] = []
    /// The comment that was skipped last, so that a line of many is not looked at for each of its names.
    private var comment = 0..<0

    init(_ text: String, _ language: Language, by redaction: CassetteRedaction) {
        self.redaction = redaction
        self.language = language
        bytes = Array(text.utf8)
    }

    mutating func redacted() -> String {
        while position < bytes.count {
            guard Self.isOfName(bytes[position]) else {
                clean.append(bytes[position])
                position += 1
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

    /// A text may be a dump of header fields.
    private func isSecret(_ name: String) -> Bool {
        redaction.isSecret(name) || language == .plain && redaction.isSecretField(name)
    }

    /// Returns the start of the value that follows the name before `position`, or `nil` if no value follows.
    private mutating func valueStart() -> Int? {
        var index = position
        // The name may stand in quotes, and those in a text with escapes.
        if index < bytes.count, bytes[index] == UInt8(ascii: "\\") { index += 1 }
        if index < bytes.count, Self.isQuote(bytes[index]) { index += 1 }
        index = afterBlanks(index)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: "=") else {
            return nil
        }
        index += 1
        if index < bytes.count, bytes[index] == UInt8(ascii: ">") { index += 1 }
        index = afterBlanks(index)
        return index < bytes.count ? index : nil
    }

    /// `$password: String! = "abc"` declares a variable of GraphQL. Returns the start of its default, or `nil` if it
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
        if let string = string(at: position) {
            clean += string.marks + Array(CassetteRedaction.replacement.utf8) + string.marks
            position = string.end
            return
        }
        switch bytes[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["): takeGroup()
        // A variable's value is among the request's variables.
        case UInt8(ascii: "$") where language == .graphQL: break
        default: takeWord()
        }
    }

    /// The string that begins at an index: its quotes and its end, which is behind the same quotes without a backslash
    /// before them, or the end of the text.
    private func string(at start: Int) -> (marks: [UInt8], end: Int)? {
        let all = language == .graphQL ? ["\"\"\"", "\\\"", "\""] : ["\"\"\"", "\\\"", "\"", "'"]
        guard let marks = all.first(where: { bytes[start...].starts(with: $0.utf8) }).map({ Array($0.utf8) }) else {
            return nil
        }
        var index = start + marks.count
        while index < bytes.count, !bytes[index...].starts(with: marks) {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return (marks, min(index + marks.count, bytes.count))
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

    /// To the end of the line, because `Authorization: Digest username="a", response="…"` has many words and parts. In
    /// GraphQL to what ends a value, or begins the arguments of a field that has a secret name as its alias.
    private mutating func takeWord() {
        let ends = language == .graphQL ? " \t\r\n,()}]" : "\r\n"
        let end = bytes[position...].firstIndex { ends.utf8.contains($0) } ?? bytes.endIndex
        if end > position { clean += Array(CassetteRedaction.replacement.utf8) }
        position = end
    }

    /// Behind blanks, and in GraphQL behind all that has no meaning there: ends of lines, commas, comments and byte
    /// order marks.
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
                    comment = index..<(bytes[index...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.endIndex)
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

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "_-.".utf8.contains(byte)
    }
}
