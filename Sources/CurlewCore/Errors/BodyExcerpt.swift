package import Foundation

extension Redaction {
    /// The beginning of a body as one line, for an error's sentence: without control characters, values of secret fields,
    /// credentials and query values. It ends before the first tag, because markup has too many ways to pair names and values.
    /// "12 bytes" for what is not text, "12 bytes of text/html" for markup.
    package static func excerpt(of body: Data, type: String = "", limit: Int = 160) -> String {
        // More than is shown, so that a secret's name is seen with it; not all, because bodies can be large.
        let beginning = body.prefix(max(4 * limit, 4_096))
        var text = String(decoding: beginning, as: UTF8.self)
        // A character that was cut in two.
        if beginning.count < body.count { while text.last == "\u{FFFD}" { text.removeLast() } }
        if text.unicodeScalars.contains(where: { $0 == "\0" || $0 == "\u{FFFD}" }) { return "\(body.count) bytes" }
        let plain = beforeMarkup(text)
        if plain.utf8.count < text.utf8.count, plain.allSatisfy({ $0.isWhitespace || $0 == "\u{FEFF}" }) {
            let mediaType = excerpt(of: String(type.prefix { $0 != ";" }), limit: 80)
            return "\(body.count) bytes" + (mediaType.isEmpty ? "" : " of \(mediaType)")
        }
        // Without a type `body` takes every text for a form.
        let shown = excerpt(of: Redaction.body(plain, type: type.isEmpty ? "text/plain" : type), limit: limit)
        return plain.utf8.count < body.count && !shown.hasSuffix("…") ? shown + "…" : shown
    }

    /// The text before the first tag, comment or declaration.
    private static func beforeMarkup(_ text: String) -> String {
        let bytes = text.utf8
        var rest = bytes[...]
        while let open = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[bytes.index(after: open)...]
            guard let next = rest.first else { break }
            if (next | 0x20) &- 0x61 < 26 || next >= 0x80 || "/!?_:".utf8.contains(next) {
                return String(text[..<open])
            }
        }
        return text
    }

    /// The same for a text.
    package static func excerpt(of text: String, limit: Int) -> String {
        var scanner = ExcerptScanner()
        for scalar in text.unicodeScalars { scanner.take(scalar) }
        let line = scanner.finished()
        return line.count > limit ? line.prefix(limit) + "…" : line
    }
}

/// Goes through a text word by word. A query is shown without its values, as servers repeat the URL that they refuse
/// (`Cannot GET /a?token=…`). What follows a secret name (`Authorization: …`, `password=…`) or the name of a scheme
/// (`Bearer …`) is left out: to the end of the line after a colon, else that word alone. A name may be separated from its
/// value by quotes, backslashes and brackets (`"token":"…"`, `\"token\": …`, `<token>…`): then nothing after it is shown,
/// because where the value ends depends on a format that is not known here.
private struct ExcerptScanner {
    private enum Hiding {
        case nothing
        case word
        case line
        /// Everything from the next word on, unless that stands for a value that has been left out.
        case rest
        case everything
    }

    private var shown = ""
    private var word = ""
    private var isInQuery = false
    private var hiding = Hiding.nothing
    /// The last word was a secret name, and only what may stand between a name and its value has followed.
    private var isAfterName = false

    mutating func take(_ scalar: Unicode.Scalar) {
        let isBlank = scalar.properties.isWhitespace || Self.isInvisible(scalar)
        guard isBlank || endsWord(scalar) else {
            word.unicodeScalars.append(scalar)
            if scalar == "?" || scalar == "#" { isInQuery = true }
            return
        }
        endWord()
        if scalar == "\n" || scalar == "\r" || scalar == "<", hiding == .line { hiding = .nothing }
        if hiding == .line || hiding == .everything { return }
        if !isBlank, !"\"'`\\".unicodeScalars.contains(scalar) {
            if isAfterName, scalar == ">" { hiding = .rest }
            isAfterName = false
        }
        if !isBlank {
            shown.unicodeScalars.append(scalar)
        } else if !shown.isEmpty, shown.last != " " {
            shown.append(" ")
        }
    }

    mutating func finished() -> String {
        endWord()
        return shown.last == " " ? String(shown.dropLast()) : shown
    }

    private mutating func endWord() {
        guard !word.isEmpty else { return }
        switch hiding {
        case .line, .everything: break
        case .word:
            shown += Redaction.mark
            hiding = .nothing
        case .rest:
            shown += Redaction.mark
            hiding = word == Redaction.mark ? .nothing : .everything
        case .nothing: show(word)
        }
        (word, isInQuery) = ("", false)
    }

    private mutating func show(_ word: String) {
        let scalars = word.unicodeScalars
        if isAfterName {
            isAfterName = false
            if let end = scalars.firstIndex(where: { $0 == "=" || $0 == ":" }) {
                let value = word[scalars.index(after: end)...]
                shown += word[...end] + (value.isEmpty ? "" : Redaction.mark)
                hiding = value.isEmpty ? .rest : value == Redaction.mark ? .nothing : .everything
                return
            }
        }
        if ["bearer", "basic"].contains(ASCII.lowercased(word)) { hiding = .word }
        if isInQuery || word.contains("://") {
            shown += Redaction.reference(word)
        } else if scalars.contains("&"), scalars.contains("=") {
            // A form, or a query without its path.
            shown += Redaction.reference("?" + word).dropFirst()
        } else if let end = scalars.firstIndex(where: { $0 == "=" || $0 == ":" }), Self.isSecret(word[..<end]) {
            let isAlone = scalars.index(after: end) == scalars.endIndex
            let isField = scalars[end] == ":"
            shown += word[...end] + (isAlone && !isField ? "" : Redaction.mark)
            hiding = isField ? .line : isAlone ? .word : .nothing
        } else {
            shown += word
            isAfterName = scalars.first != "/" && Self.isSecret(word[...])
        }
    }

    private static func isSecret(_ name: Substring) -> Bool {
        SecretNames.containsField(String(name)) || SecretNames.containsMember(String(name))
    }

    /// Within a query only what no URL holds ends a word: the rest of a value must not be taken for a word of its own.
    private func endsWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"", "<", ">", "`": true
        case "'", "(", ")", ",", ";", "{", "}", "[", "]", "\\": !isInQuery
        default: false
        }
    }

    /// Controls and marks of direction, which would move a terminal or turn the line round.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
