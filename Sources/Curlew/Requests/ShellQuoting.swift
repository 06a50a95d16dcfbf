/// The quoting of a command's arguments, so that a POSIX shell passes each one unchanged.
package enum ShellQuoting: Sendable {
    /// In single quotes.
    case single
    /// In double quotes, with the characters escaped that are special in them.
    case double

    package func quoted(_ text: String) -> String {
        switch self {
        // In single quotes only the quote is special to a shell. Scalars, because a combining mark would make the quote
        // part of another character.
        case .single:
            let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
            return "'" + parts.joined(separator: "'\\''") + "'"
        case .double:
            var escaped = ""
            for character in text.unicodeScalars {
                switch character {
                case "\\", "\"", "$", "`": escaped += "\\\(character)"
                // Interactive shells expand `!` in double quotes, and would keep a backslash before it.
                case "!": escaped += "\"'!'\""
                default: escaped.unicodeScalars.append(character)
                }
            }
            return "\"\(escaped)\""
        }
    }

    /// Returns a method, without quotes if it consists of capital letters.
    func method(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
        return self == .double && isPlain ? text : quoted(text)
    }
}
