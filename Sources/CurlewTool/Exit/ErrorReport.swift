/// The report on standard error when a request fails: the failure, its phase, and hints.
struct ErrorReport: Equatable, Sendable {
    var what: String
    /// The phase, the native error, and further reasons.
    var detail: String?
    var hints: [String] = []

    func text(palette: Palette) -> String {
        var lines = [palette(.error, "curlew: error:") + " " + TerminalText.escaped(what)]
        if let detail { lines.append("  " + palette(.comment, TerminalText.escaped(detail))) }
        for hint in hints { lines.append("  try: " + TerminalText.escaped(hint)) }
        return lines.joined(separator: "\n") + "\n"
    }

    static func usage(_ error: UsageError, palette: Palette) -> String {
        // The message may contain text from a server.
        let lines = TerminalText.escaped(error.message).split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        var out = [palette(.error, "curlew: error:") + " " + lines[0]] + lines.dropFirst().map { "  " + $0 }
        if let hint = error.hint { out.append("  " + TerminalText.escaped(hint)) }
        return out.joined(separator: "\n") + "\n"
    }
}
