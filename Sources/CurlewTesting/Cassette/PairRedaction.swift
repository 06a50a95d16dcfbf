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
            // `$password: String!` declares a variable of GraphQL.
            let isDeclared = language == .graphQL && start > 0 && bytes[start - 1] == UInt8(ascii: "$")
            guard !isDeclared, let value = valueStart(),
                redaction.isSecret(String(decoding: bytes[start..<position], as: UTF8.self))
            else { continue }
            clean += bytes[position..<value]
            position = value
            takeValue()
        }
        return String(decoding: clean, as: UTF8.self)
    }

    /// Returns the start of the value that follows the name before `position`, or `nil` if no value follows.
    private func valueStart() -> Int? {
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

    private mutating func takeValue() {
        if starts("\"\"\"") { return takeQuoted("\"\"\"") }
        if starts("\\\"") { return takeQuoted("\\\"") }
        switch bytes[position] {
        case UInt8(ascii: "\""): takeQuoted("\"")
        case UInt8(ascii: "'"): takeQuoted("'")
        case UInt8(ascii: "{"), UInt8(ascii: "["): takeGroup()
        // A variable's value is among the request's variables.
        case UInt8(ascii: "$") where language == .graphQL: break
        default: takeWord()
        }
    }

    /// Up to the same quotes without a backslash before them, or to the end of the text.
    private mutating func takeQuoted(_ quotes: String) {
        let marks = Array(quotes.utf8)
        var index = position + marks.count
        while index < bytes.count, !bytes[index...].starts(with: marks) {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        clean += marks + Array(CassetteRedaction.replacement.utf8) + marks
        position = min(index + marks.count, bytes.count)
    }

    private mutating func takeGroup() {
        var depth = 0
        repeat {
            switch bytes[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
        } while depth > 0 && position < bytes.count
        clean += Array(CassetteRedaction.replacement.utf8)
    }

    /// To the end of the line, because `Authorization: Digest username="a", response="…"` has many words and parts. In GraphQL
    /// to what ends a value.
    private mutating func takeWord() {
        let ends = language == .graphQL ? " \t\r\n,)}]" : "\r\n"
        let end = bytes[position...].firstIndex { ends.utf8.contains($0) } ?? bytes.endIndex
        if end > position { clean += Array(CassetteRedaction.replacement.utf8) }
        position = end
    }

    private func starts(_ mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

    private func afterBlanks(_ start: Int) -> Int {
        guard start < bytes.count else { return start }
        return bytes[start...].firstIndex { !ASCII.isBlank($0) } ?? bytes.endIndex
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "_-.".utf8.contains(byte)
    }
}
