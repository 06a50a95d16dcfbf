/// The appearance of heads and bodies that the command line asks for, apart from `--pretty`.
struct Look: Sendable, Equatable {
    var theme = Theme.auto
    var format = FormatOptions()
    /// Overrides the charset of the content type.
    var charset: String?
    /// Overrides the content type.
    var mediaType: String?
    /// Whether text is shown at once instead of being held back while it may be JSON.
    var isLive = false
}

extension Look {
    mutating func apply(_ option: Option, value: String, flag: String) throws(UsageError) {
        switch option {
        case .style: theme = Theme.named(value) ?? .auto
        case .formatOptions: try format.apply(value, for: flag)
        case .sorted: format.sortAll(true)
        case .unsorted: format.sortAll(false)
        case .responseCharset:
            guard CharsetDecoder.isKnown(value) else {
                throw UsageError(
                    "\(flag): the charset '\(value)' is not known here",
                    hint: "For instance utf-8, iso-8859-1, shift_jis, gbk, big5.")
            }
            charset = value.lowercased()
        case .responseMIME:
            guard value.contains("/"), !value.contains(where: \.isWhitespace) else {
                throw UsageError("\(flag): '\(value)' is not a media type", hint: "For instance application/json.")
            }
            mediaType = value
        default: break
        }
    }
}

/// The values of `--format-options`: sorting and indentation.
struct FormatOptions: Equatable, Sendable {
    var sortsHeaders = false
    var formatsJSON = true
    var jsonIndent = 4
    var sortsKeys = false
    var formatsXML = true
    var xmlIndent = 2

    static let names = [
        "headers.sort", "json.format", "json.indent", "json.sort_keys", "xml.format", "xml.indent",
    ]

    /// Applies a list such as `json.indent:2,headers.sort:true`.
    mutating func apply(_ text: String, for flag: String) throws(UsageError) {
        for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = entry.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[1].isEmpty else {
                throw UsageError("\(flag): '\(entry)' is not NAME:VALUE", hint: "For instance json.indent:2.")
            }
            try set(parts[0], to: parts[1], for: flag)
        }
    }

    mutating func sortAll(_ sorts: Bool) {
        sortsHeaders = sorts
        sortsKeys = sorts
    }

    private mutating func set(_ name: String, to value: String, for flag: String) throws(UsageError) {
        switch name {
        case "headers.sort": sortsHeaders = try Self.flag(value, name)
        case "json.format": formatsJSON = try Self.flag(value, name)
        case "json.indent": jsonIndent = try ValueParsing.count(value, for: name, in: 0...16)
        case "json.sort_keys": sortsKeys = try Self.flag(value, name)
        case "xml.format": formatsXML = try Self.flag(value, name)
        case "xml.indent": xmlIndent = try ValueParsing.count(value, for: name, in: 0...16)
        default:
            let closest = Suggestion.closest(to: name, in: Self.names)
            throw UsageError(
                "\(flag): there is no '\(name)'",
                hint: closest.map { "Did you mean '\($0)'?" } ?? "There are \(Self.names.joined(separator: ", ")).")
        }
    }

    private static func flag(_ value: String, _ name: String) throws(UsageError) -> Bool {
        switch value {
        case "true": true
        case "false": false
        default: throw UsageError("\(name): '\(value)' is neither true nor false")
        }
    }
}
