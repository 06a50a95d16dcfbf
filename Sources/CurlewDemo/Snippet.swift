internal import Foundation

/// Extracts the lines that a step shows from its source file, so the shown code is the compiled code.
enum Snippet {
    static func lines(of file: String) throws -> [String] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        var shown: [Substring] = []
        var isShown = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "// show": isShown = true
            case "// end": isShown = false
            default: if isShown { shown.append(line) }
            }
        }
        guard !shown.isEmpty else { throw DemoFailure(description: "\(file) has nothing to show") }
        let margin = shown.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return shown.map { String($0.dropFirst(margin)) }
    }
}
