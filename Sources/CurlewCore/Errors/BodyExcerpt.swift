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
            let mediaType = MediaType(type).map { " of " + excerpt(of: $0.essence, limit: 80) }
            return "\(body.count) bytes" + (mediaType ?? "")
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
        // URLs and passwords first: they may hold characters that end a word.
        for scalar in withoutPasswords(Redaction.text(text)).unicodeScalars { scanner.take(scalar) }
        let line = scanner.finished()
        return line.count > limit ? line.prefix(limit) + "…" : line
    }

    /// Leaves out the password of `ada:password@host`: all between a colon and the last `@` that follows it without a
    /// blank or a double quote in between. A form is left as it is, because its values are left out as a whole.
    private static func withoutPasswords(_ text: String) -> String {
        guard text.unicodeScalars.contains("@") else { return text }
        var shown = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            let run = rest.prefix { !endsRun($0) }
            let isForm = run.contains("&") && run.contains("=")
            if !isForm, let at = run.lastIndex(of: "@"), let colon = passwordColon(run[..<at]) {
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

    /// The first colon that does not belong to `://`.
    private static func passwordColon(_ text: Substring.UnicodeScalarView) -> String.Index? {
        text.indices.first { text[$0] == ":" && !text[$0...].dropFirst().starts(with: "//".unicodeScalars) }
    }

    private static func endsRun(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || "\"`<>".unicodeScalars.contains(scalar)
    }
}

/// Goes through a text word by word. A query is shown without its values, as servers repeat the URL that they refuse
/// (`Cannot GET /a?token=…`). What follows a secret name (`Authorization: …`, `password=…`) or the name of a scheme
/// (`Bearer …`) is left out: after a colon to the end of the line, else to the next blank, or to the end of a
/// quotation. After a value that may have several lines (`password: |`), or that has quotes or brackets within,
/// nothing is shown. A name may be separated from its value by quotes, backslashes and brackets (`"token":"…"`,
/// `\"token\": …`, `<token>…`, `card[pin]=…`): then nothing after it is shown, because where the value ends depends
/// on a format that is not known here.
private struct ExcerptScanner {
    private enum Hiding {
        case nothing
        /// The next word, or the next quotation.
        case word
        /// Everything to the end of a quotation.
        case quotation(Unicode.Scalar)
        /// The value has been left out, and what follows it without a blank is part of it: `password=a,b`.
        case glued
        /// The rest of the line.
        case line
        /// The rest of the line. Everything if no word follows on this line, or something else stands before the word.
        case value
        /// Everything from the next word on, unless that stands for a value that has been left out.
        case rest
        case everything
    }

    private var shown = ""
    private var word = ""
    private var isInQuery = false
    private var hiding = Hiding.nothing
    /// Punctuation after a value that was left out. Shown if a blank follows.
    private var held = ""
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
        switch hiding {
        case .line:
            guard scalar == "\n" || scalar == "\r" else { return }
            hiding = .nothing
        case .glued:
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
        case .glued: release()
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
        case .glued: held = ""
        case .value: hiding = word.hasPrefix("|") ? .everything : .line
        case .word:
            shown += Redaction.mark
            hiding = Self.beginsQuotation(word[...]) ? .everything : .glued
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
            // `card[pin][0]=…`
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
        if Self.schemes.contains(ASCII.lowercased(word)) { hiding = .word }
        if isInQuery || word.contains("://") {
            shown += Redaction.reference(word)
        } else if scalars.contains("&"), scalars.contains("=") {
            // A form, or a query without its path.
            shown += Redaction.reference("?" + word).dropFirst()
            hiding = .glued
        } else if let end = Self.endOfSecretName(in: word) {
            let isAlone = scalars.index(after: end) == scalars.endIndex
            let isField = scalars[end] == ":"
            shown += word[...end] + (isAlone && !isField ? "" : Redaction.mark)
            let isQuotation = Self.beginsQuotation(word[scalars.index(after: end)...])
            hiding = isField ? (isAlone ? .value : .line) : isAlone ? .word : isQuotation ? .everything : .glued
        } else {
            shown += word
            isAfterName = scalars.first != "/" && Self.isSecret(word[...])
        }
    }

    /// Whether a word begins with a quote that does not end words.
    private static func beginsQuotation(_ word: Substring) -> Bool {
        word.unicodeScalars.first.map { "“”„«»‘’‚‹›".unicodeScalars.contains($0) } ?? false
    }

    /// The schemes of credentials that are one word.
    private static let schemes: Set<String> = ["bearer", "basic", "negotiate", "ntlm", "dpop", "apikey"]

    /// The place of the `=` or `:` behind the first secret name: `password=…`, `user:password=…`.
    private static func endOfSecretName(in word: String) -> String.Index? {
        let scalars = word.unicodeScalars
        var start = scalars.startIndex
        for end in scalars.indices where scalars[end] == "=" || scalars[end] == ":" {
            if isSecret(word[start..<end]) { return end }
            start = scalars.index(after: end)
        }
        return nil
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
