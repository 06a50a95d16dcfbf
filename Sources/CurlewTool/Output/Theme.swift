/// A theme of `--style`: the parameters of an SGR sequence for each style.
struct Theme: Sendable, Equatable {
    let name: String
    private let codes: [Style: String]

    func code(_ style: Style) -> String? { codes[style] }

    static let all: [Theme] = [auto, dark, light, monokai, solarized, fruity, mono]

    static func named(_ name: String) -> Theme? { all.first { $0.name == name } }

    /// Uses the sixteen colours of the terminal's own theme.
    static let auto = Theme(
        name: "auto",
        codes: [
            .protocolVersion: "90", .method: "1;32", .url: "4;36", .statusSuccess: "1;32", .statusRedirect: "1;33",
            .statusError: "1;31", .reason: "36", .headerName: "36", .jsonKey: "1;34", .jsonString: "33",
            .jsonNumber: "36", .jsonWord: "35", .tag: "1;34", .attribute: "36", .attributeValue: "33",
            .fieldName: "1;34", .comment: "90", .barDone: "32", .barRest: "90", .error: "1;31", .warning: "1;33",
            .strong: "1",
        ]
    )

    /// For a dark background, in 256 colours.
    static let dark = of("dark", Hues(name: 117, text: 186, number: 215, word: 176, quiet: 245, good: 114, bad: 203))
    /// For a light background.
    static let light = of("light", Hues(name: 25, text: 94, number: 130, word: 90, quiet: 244, good: 28, bad: 160))
    static let monokai = of(
        "monokai", Hues(name: 197, text: 186, number: 141, word: 81, quiet: 242, good: 148, bad: 197))
    static let solarized = of(
        "solarized", Hues(name: 33, text: 37, number: 166, word: 136, quiet: 242, good: 64, bad: 160))
    static let fruity = of(
        "fruity", Hues(name: 208, text: 32, number: 39, word: 198, quiet: 28, good: 112, bad: 196))
    /// Without colours: weight, italics, underlines and inverse video.
    static let mono = Theme(
        name: "mono",
        codes: [
            .protocolVersion: "2", .method: "1", .url: "4", .statusSuccess: "1", .statusRedirect: "1",
            .statusError: "1;7", .headerName: "1", .jsonKey: "1", .jsonWord: "3", .tag: "1", .attribute: "4",
            .fieldName: "1", .comment: "2", .barRest: "2", .error: "1;7", .warning: "1;4", .strong: "1",
        ]
    )

    /// The colours that a theme chooses, as numbers of the 256-colour palette.
    private struct Hues {
        let name: Int
        let text: Int
        let number: Int
        let word: Int
        let quiet: Int
        let good: Int
        let bad: Int
    }

    private static func of(_ name: String, _ hues: Hues) -> Theme {
        func color(_ number: Int) -> String { "38;5;\(number)" }
        func bold(_ number: Int) -> String { "1;" + color(number) }
        return Theme(
            name: name,
            codes: [
                .protocolVersion: color(hues.quiet), .method: bold(hues.good), .url: "4;" + color(hues.number),
                .statusSuccess: bold(hues.good), .statusRedirect: bold(hues.number), .statusError: bold(hues.bad),
                .reason: color(hues.text), .headerName: color(hues.name), .jsonKey: bold(hues.name),
                .jsonString: color(hues.text), .jsonNumber: color(hues.number), .jsonWord: color(hues.word),
                .tag: bold(hues.name), .attribute: color(hues.word), .attributeValue: color(hues.text),
                .fieldName: bold(hues.name), .comment: color(hues.quiet), .barDone: color(hues.good),
                .barRest: color(hues.quiet), .error: bold(hues.bad), .warning: bold(hues.number), .strong: "1",
            ]
        )
    }
}

/// The role of a piece of output. The palette decides its appearance.
enum Style: Sendable, CaseIterable {
    case protocolVersion, method, url, statusSuccess, statusRedirect, statusError, reason
    case headerName, headerValue
    case jsonKey, jsonString, jsonNumber, jsonWord
    case tag, attribute, attributeValue
    case fieldName, comment
    case barDone, barRest, error, warning, strong

    static func status(_ status: Int) -> Style {
        switch status {
        case ..<300: .statusSuccess
        case 300..<400: .statusRedirect
        default: .statusError
        }
    }
}

/// Turns styles into escape sequences. Without colours, text is not changed.
struct Palette: Sendable, Equatable {
    let isColored: Bool
    var theme = Theme.auto

    func callAsFunction(_ style: Style, _ text: String) -> String {
        text.isEmpty ? text : start(style) + text + end(style)
    }

    func start(_ style: Style) -> String { isColored ? theme.code(style).map { "\u{1B}[\($0)m" } ?? "" : "" }

    func end(_ style: Style) -> String { isColored && theme.code(style) != nil ? "\u{1B}[0m" : "" }
}
