/// What a piece of output is; the palette decides how it looks.
enum Style: Sendable, CaseIterable {
    case plain
    case protocolVersion, method, url, statusSuccess, statusRedirect, statusError, reason
    case headerName, headerValue
    case jsonKey, jsonString, jsonNumber, jsonWord
    case fieldName, comment
    case barDone, barRest, error, warning, strong

    /// The parameters of the SGR sequence; only the sixteen colours that every theme defines.
    var code: String? {
        switch self {
        case .plain, .headerValue: nil
        case .protocolVersion, .comment, .barRest: "90"
        case .method: "1;32"
        case .url: "4;36"
        case .statusSuccess: "1;32"
        case .statusRedirect: "1;33"
        case .statusError: "1;31"
        case .reason: "36"
        case .headerName: "36"
        case .jsonKey: "1;34"
        case .jsonString: "33"
        case .jsonNumber: "36"
        case .jsonWord: "35"
        case .fieldName: "1;34"
        case .barDone: "32"
        case .error: "1;31"
        case .warning: "1;33"
        case .strong: "1"
        }
    }

    static func status(_ status: Int) -> Style {
        switch status {
        case ..<300: .statusSuccess
        case 300..<400: .statusRedirect
        default: .statusError
        }
    }
}

/// Turns styles into escape sequences, or leaves text alone.
struct Palette: Sendable, Equatable {
    let isColored: Bool

    func callAsFunction(_ style: Style, _ text: String) -> String {
        guard isColored, let code = style.code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    func start(_ style: Style) -> String { isColored ? style.code.map { "\u{1B}[\($0)m" } ?? "" : "" }

    func end(_ style: Style) -> String { isColored && style.code != nil ? "\u{1B}[0m" : "" }
}
