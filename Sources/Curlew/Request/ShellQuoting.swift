/// How the arguments of a command are written, so that a POSIX shell takes each as it is.
package enum ShellQuoting: Sendable {
    /// In single quotes.
    case single
    /// In double quotes, with what a shell looks into there escaped.
    case double

    func quoted(_ text: String) -> String {
        switch self {
        // In single quotes nothing is special to a shell but the quote itself. By scalars: a mark that combines with it is
        // another character.
        case .single:
            let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
            return "'" + parts.joined(separator: "'\\''") + "'"
        case .double:
            var escaped = ""
            for character in text.unicodeScalars {
                switch character {
                case "\\", "\"", "$", "`": escaped += "\\\(character)"
                // Interactive shells look for their history here, and a backslash would stay.
                case "!": escaped += "\"'!'\""
                default: escaped.unicodeScalars.append(character)
                }
            }
            return "\"\(escaped)\""
        }
    }

    /// A method's usual letters mean nothing to a shell.
    func method(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
        return self == .double && isPlain ? text : quoted(text)
    }
}
