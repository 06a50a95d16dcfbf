/// Quotes words for a POSIX shell.
enum ShellQuote {
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy {
                $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || "%+,-./:=@_".utf8.contains($0)
            }
        if isPlain { return word }
        // By scalars: to a shell a mark that combines with a quote is another character.
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
