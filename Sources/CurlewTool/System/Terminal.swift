internal import Foundation

/// The properties of the terminal that the tool may be writing to.
struct Terminal: Sendable, Equatable {
    let isInput: Bool
    let isOutput: Bool
    let isError: Bool
    let hasUnicode: Bool
    let noColor: Bool

    static func current(environment: [String: String]) -> Terminal {
        let isDumb = environment["TERM"] == "dumb"
        return Terminal(
            isInput: isatty(STDIN_FILENO) == 1,
            isOutput: isatty(STDOUT_FILENO) == 1,
            isError: isatty(STDERR_FILENO) == 1 && !isDumb,
            hasUnicode: hasUnicode(environment),
            noColor: environment["NO_COLOR"]?.isEmpty == false || isDumb
        )
    }

    /// Whether the locale is UTF-8. Of its variables, the first one that is set decides.
    static func hasUnicode(_ environment: [String: String]) -> Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let text = locale.lowercased()
        return text.contains("utf-8") || text.contains("utf8")
    }

    /// Returns the current columns and rows, or 80 and 24 if there is no terminal. The window may be resized between
    /// calls.
    static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
