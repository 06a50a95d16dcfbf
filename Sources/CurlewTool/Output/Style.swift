/// The role of a piece of output. The palette decides its appearance.
enum Style: Sendable, CaseIterable {
    case plain
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
