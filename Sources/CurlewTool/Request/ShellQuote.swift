/// Quotes words for a POSIX shell.
enum ShellQuote {
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy {
                $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || "%+,-./:=@_".utf8.contains($0)
            }
        if isPlain { return word }
        // Splits scalars instead of characters: a shell sees a quote even if a combining mark follows it.
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
