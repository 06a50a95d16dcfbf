package import Foundation

extension Redaction {
    /// Returns the beginning of a body as one line, for an error message.
    ///
    /// Control characters, values of secret fields, credentials and query values are left out. The excerpt ends before
    /// the first tag, because markup has too many ways to pair names with values. The result is
    /// "12 bytes" for a body that is not text, and "12 bytes of text/html" for one that begins with markup.
    package static func excerpt(of body: Data, type: String = "", limit: Int = 160) -> String {
        // Longer than the excerpt, so that the name of a secret is read together with its value; bounded, because
        // bodies can be large.
        let beginning = body.prefix(max(4 * limit, 4_096))
        var text = String(decoding: beginning, as: UTF8.self)
        // The cut may have split a character.
        if beginning.count < body.count { while text.last == "\u{FFFD}" { text.removeLast() } }
        if text.unicodeScalars.contains(where: { $0 == "\0" || $0 == "\u{FFFD}" }) { return "\(body.count) bytes" }
        let plain = beforeMarkup(text)
        if plain.utf8.count < text.utf8.count, plain.allSatisfy({ $0.isWhitespace || $0 == "\u{FEFF}" }) {
            let mediaType = MediaType(type).map { " of " + excerpt(of: $0.essence, limit: 80) }
            return "\(body.count) bytes" + (mediaType ?? "")
        }
        // `body` treats a text without a type as a form.
        let shown = excerpt(
            of: Redaction.body(plain, type: type.isEmpty ? "text/plain" : type, showsRejected: false), limit: limit)
        return plain.utf8.count < body.count && !shown.hasSuffix("…") ? shown + "…" : shown
    }

    /// Returns the text before the first tag, comment or declaration, which may be escaped.
    private static func beforeMarkup(_ text: String) -> String {
        var rest = text.utf8[...]
        while let open = rest.firstIndex(where: { "<&\\".utf8.contains($0) }) {
            rest = rest[open...]
            let bracket = ["<", "&lt;", "\\u003c", "\\u003C"].first { rest.starts(with: $0.utf8) }
            rest = rest.dropFirst(bracket?.utf8.count ?? 1)
            guard bracket != nil, let next = rest.first else { continue }
            if ASCII.isAlpha(next) || next >= 0x80 || "/!?_:".utf8.contains(next) {
                return String(text[..<open])
            }
        }
        return text
    }

    /// Returns the beginning of a text as one line, without the secret values.
    package static func excerpt(of text: String, limit: Int) -> String {
        var scanner = ExcerptScanner()
        // URLs and passwords are redacted first, because they may contain characters that end a word for the scanner.
        for scalar in withoutPasswords(Redaction.text(text)).unicodeScalars { scanner.take(scalar) }
        let line = scanner.finished()
        return line.count > limit ? line.prefix(limit) + "…" : line
    }

    /// Replaces the password of `ada:password@host`: everything between a colon and the last `@` that follows it
    /// without whitespace, a double quote, a backtick or an angle bracket in between. A text that may also be a form
    /// loses all of its values, because `ExcerptScanner` would end it at a comma.
    private static func withoutPasswords(_ text: String) -> String {
        guard text.unicodeScalars.contains("@") else { return text }
        var shown = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            let run = rest.prefix { !endsRun($0) }
            let isForm = run.contains("@") && run.contains("&") && run.contains("=")
            if isForm, let colon = passwordColon(run.prefix { $0 != "=" }) {
                shown += run[...colon]
                shown += mark.unicodeScalars
            } else if isForm {
                shown += Redaction.reference("?" + String(run)).dropFirst().unicodeScalars
            } else if let at = run.lastIndex(of: "@"), let colon = passwordColon(run[..<at]) {
                shown += run[...colon]
                shown += mark.unicodeScalars
                shown += run[at...]
            } else {
                shown += run
            }
            rest = rest[run.endIndex...]
            if let end = rest.popFirst() { shown.append(end) }
        }
        return String(shown)
    }

    /// Returns the index of the first colon that is not part of `://`.
    private static func passwordColon(_ text: Substring.UnicodeScalarView) -> String.Index? {
        text.indices.first { text[$0] == ":" && !text[$0...].dropFirst().starts(with: "//".unicodeScalars) }
    }

    private static func endsRun(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || "\"`<>".unicodeScalars.contains(scalar)
    }
}

/// Redacts a text word by word.
///
/// - A query is shown without its values, because servers repeat the URL that they refuse (`Cannot GET /a?token=…`).
/// - A value that follows a secret name (`Authorization: …`, `password=…`) or the name of a scheme (`Bearer …`) is
///   hidden: after a colon, `Authorization=` or `Cookie=` to the end of the line, otherwise to the next blank or to the
///   end of a quotation.
/// - Nothing is shown after a value that may span several lines (`password: |`) or that contains quotes or brackets.
/// - Quotes, backslashes and brackets may separate a name from its value (`"token":"…"`, `\"token\": …`, `<token>…`,
///   `card[pin]=…`). Nothing is shown after such a name, because the end of the value depends on an unknown format.
private struct ExcerptScanner {
    private enum Hiding {
        case nothing
        /// Hides the next word, or the next quotation. An ordinary word is shown if it may follow.
        case word(mayBeOrdinary: Bool)
        /// Hides everything up to the end of a quotation.
        case quotation(Unicode.Scalar)
        /// The value has been hidden, and text that follows it without a blank is part of it: `password=a,b`.
        case glued
        /// A query within a quotation has been shown without its values, and text that follows it up to a blank or to
        /// the closing quote is part of it.
        case gluedInQuotation
        /// A quote ends the quotation, unless a word follows it at once: `"/a?b=c"d`.
        case closingQuote
        /// Hides the rest of the line.
        case line
        /// Hides the rest of the line; hides everything if no word follows on this line, or if punctuation precedes the
        /// word.
        case value
        /// Hides everything from the next word on, unless that word is the mark of a value that has been left out.
        case rest
        case everything
    }

    private var shown = ""
    private var word = ""
    private var isInQuery = false
    /// Whether an odd number of quotes was read, so that the next one closes a quotation.
    private var isInQuotation = false
    private var hiding = Hiding.nothing
    /// Punctuation after a hidden value, shown only if whitespace follows.
    private var held = ""
    /// Whether the last word was a secret name, followed so far only by characters that may separate it from its value.
    private var isAfterName = false

    mutating func take(_ scalar: Unicode.Scalar) {
        let isBlank = scalar.properties.isWhitespace || Self.isInvisible(scalar)
        guard isBlank || endsWord(scalar) else {
            word.unicodeScalars.append(scalar)
            if scalar == "?" || scalar == "#" { isInQuery = true }
            return
        }
        endWord()
        let isQuote = scalar == "\"" || scalar == "`"
        if isQuote { isInQuotation.toggle() }
        // The hidden word looked like another name, but punctuation follows: it was the value.
        if case .word = hiding, !isBlank, shown.unicodeScalars.last == "_" { hiding = .glued }
        switch hiding {
        case .line:
            guard scalar == "\n" || scalar == "\r" else { return }
            hiding = .nothing
        case .gluedInQuotation where isQuote:
            (held, hiding) = (held + String(scalar), .closingQuote)
            return
        case .closingQuote: release()
        case .glued, .gluedInQuotation:
            guard scalar.properties.isWhitespace else {
                if "\"'`([{".unicodeScalars.contains(scalar) {
                    (held, hiding) = ("", .everything)
                } else if !isBlank {
                    held.unicodeScalars.append(scalar)
                }
                return
            }
            release()
        case .quotation(let quote):
            guard scalar == quote else { return }
            shown += Redaction.mark
            hiding = .glued
        case .word where "\"'`".unicodeScalars.contains(scalar): hiding = .quotation(scalar)
        case .word where "([{".unicodeScalars.contains(scalar):
            shown += Redaction.mark
            hiding = .everything
            return
        case .value:
            if !isBlank || scalar == "\n" || scalar == "\r" { hiding = .everything }
            return
        case .everything: return
        case .nothing, .word, .rest: break
        }
        if !isBlank, !"\"'`\\[]".unicodeScalars.contains(scalar) {
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
        switch hiding {
        case .quotation: shown += Redaction.mark
        case .glued, .gluedInQuotation, .closingQuote: release()
        case .nothing, .word, .line, .value, .rest, .everything: break
        }
        return shown.last == " " ? String(shown.dropLast()) : shown
    }

    private mutating func release() {
        shown += held
        (held, hiding) = ("", .nothing)
    }

    private mutating func endWord() {
        guard !word.isEmpty else { return }
        switch hiding {
        case .quotation, .line, .everything: break
        case .glued, .gluedInQuotation: held = ""
        case .closingQuote: (held, hiding) = ("", .glued)
        case .value: hiding = word.hasPrefix("|") ? .everything : .line
        case .word(mayBeOrdinary: true) where Self.isOrdinary(word):
            hiding = .nothing
            show(word)
        case .word:
            shown += Redaction.mark
            // Names may precede the value: `bearer token S3CRET`, `Authorization= Bearer S3CRET`.
            let name = ASCII.lowercased(word.trimmingCharacters(in: [":", "="]))
            if Self.schemes[name] != nil {
                hiding = .word(mayBeOrdinary: false)
            } else if Self.isOrdinary(name), SecretNames.containsFieldOrMember(name) {
                hiding = .word(mayBeOrdinary: name.utf8.count == word.utf8.count)
            } else {
                hiding = Self.beginsQuotation(word[...]) ? .everything : .glued
            }
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
            // A nested form field: `card[pin][0]=…`.
            isAfterName = shown.unicodeScalars.last == "["
            if let end = scalars.firstIndex(where: { $0 == "=" || $0 == ":" }) {
                let value = word[scalars.index(after: end)...]
                shown += word[...end] + (value.isEmpty ? "" : Redaction.mark)
                hiding = value.isEmpty ? .rest : value == Redaction.mark ? .nothing : .everything
                isAfterName = false
                return
            }
            if isAfterName {
                shown += word
                return
            }
        }
        if let mayBeOrdinary = Self.schemes[ASCII.lowercased(word)] { hiding = .word(mayBeOrdinary: mayBeOrdinary) }
        if isInQuery || word.contains("://") {
            shown += Redaction.reference(word)
            if isInQuery { hiding = isInQuotation ? .gluedInQuotation : .glued }
        } else if scalars.contains("&"), scalars.contains("=") {
            // A form, or a query without its path.
            shown += Redaction.reference("?" + word).dropFirst()
            hiding = .glued
        } else if let end = Self.endOfSecretName(in: word) {
            let value = word[scalars.index(after: end)...]
            let isAlone = value.isEmpty
            // The value of a header field may have several words, also if a dump writes `Authorization=…`.
            let name = ASCII.lowercased(String(word[..<end]))
            let isField = scalars[end] == ":" || name.hasSuffix("authorization") || name.hasSuffix("cookie")
            shown += word[...end] + (isAlone && !isField ? "" : Redaction.mark)
            hiding =
                switch (isField, isAlone) {
                case (true, true): .value
                case (true, false): .line
                case (false, true): .word(mayBeOrdinary: false)
                case (false, false) where Self.schemes[ASCII.lowercased(String(value))] != nil:
                    .word(mayBeOrdinary: false)
                case (false, false): Self.beginsQuotation(value) ? .everything : .glued
                }
        } else {
            shown += word
            isAfterName = scalars.first != "/" && SecretNames.containsFieldOrMember(word)
        }
    }

    /// Whether a word begins with one of the quotes that do not end words.
    private static func beginsQuotation(_ word: Substring) -> Bool {
        word.unicodeScalars.first.map { "“”„«»‘’‚‹›".unicodeScalars.contains($0) } ?? false
    }

    /// Whether a word is short and has only lower-case letters (`failed to negotiate protocol version`), which base64
    /// hardly ever does.
    private static func isOrdinary(_ word: String) -> Bool {
        word.utf8.count < 16 && word.utf8.allSatisfy { $0 &- 0x61 < 26 }
    }

    /// The authentication schemes whose credentials are one word, and whether the next word may be an ordinary one. It
    /// may if the credentials are base64.
    private static let schemes = [
        "bearer": false, "basic": true, "negotiate": true, "ntlm": true, "dpop": false, "apikey": false,
    ]

    /// Returns the index of the `=` or `:` that follows the first secret name: `password=…`, `user:password=…`.
    private static func endOfSecretName(in word: String) -> String.Index? {
        let scalars = word.unicodeScalars
        var start = scalars.startIndex
        for end in scalars.indices where scalars[end] == "=" || scalars[end] == ":" {
            if SecretNames.containsFieldOrMember(String(word[start..<end])) { return end }
            start = scalars.index(after: end)
        }
        return nil
    }

    /// Whether a character ends the current word. Within a query, only characters that a URL cannot contain do:
    /// otherwise the rest of a value would be read as a new word and shown.
    private func endsWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"", "<", ">", "`": true
        case "'", "(", ")", ",", ";", "{", "}", "[", "]", "\\": !isInQuery
        default: false
        }
    }

    /// Whether a character is a control or formatting character, such as those that move a terminal's cursor or reverse
    /// the direction of the text.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
