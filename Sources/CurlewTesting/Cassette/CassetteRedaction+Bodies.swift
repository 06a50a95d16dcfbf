internal import CurlewCore
internal import Foundation

extension CassetteRedaction {
    /// Returns a request's body decoded and without secrets; removes `Content-Encoding` from the fields. A body that
    /// cannot be decoded is replaced, because it may contain secrets.
    func sent(_ body: Cassette.Body, _ fields: inout [Cassette.Field], type: String) -> Cassette.Body? {
        let coded = CodedBody(fields)
        guard coded.hasCodings else { return self.body(body, type: type, isSent: true) }
        if let plain = coded.decoded(body.data) {
            Self.removeCodings(&fields)
            return Cassette.Body(plain).map { self.body($0, type: type, isSent: true) }
        }
        let leftOut = Cassette.Body.text(
            "<redacted: a body with Content-Encoding \(coded.names) that cannot be decoded>")
        // Encoded bytes are practically never UTF-8. A text was therefore not encoded, or is the placeholder of a body
        // that was left out.
        if case .text = body { return body == leftOut ? body : self.body(body, type: type, isSent: true) }
        return leftOut
    }

    /// Returns a response's body without secrets. Transports usually decode bodies already; an encoded body is stored
    /// decoded only if it contains a secret.
    func received(_ body: Cassette.Body, _ fields: inout [Cassette.Field], type: String) -> Cassette.Body {
        if let plain = CodedBody(fields).decoded(body.data).flatMap({ Cassette.Body($0) }), plain != body {
            let clean = self.body(plain, type: type, isSent: false)
            if clean != plain {
                Self.removeCodings(&fields)
                return clean
            }
        }
        return self.body(body, type: type, isSent: false)
    }

    private static func removeCodings(_ fields: inout [Cassette.Field]) {
        fields.removeAll { ASCII.equalsIgnoringCase($0.name, "Content-Encoding") }
    }

    /// Returns the body without secrets. `type` is the field's value in its original case, because a boundary is
    /// case-sensitive. With `isSent`, a body in an unknown format is left out.
    func body(_ body: Cassette.Body, type: String, isSent: Bool, depth: Int = 0) -> Cassette.Body {
        let kind = type.lowercased()
        if kind.hasPrefix("multipart/") {
            // Without a boundary, neither the parts nor their names are known, so the whole body is replaced.
            let clean = MultipartRedaction(redaction: self, isSent: isSent, depth: depth)
                .redacted(Array(body.data), type: type)
            return clean.flatMap { Cassette.Body(Data($0)) } ?? .text(Self.replacement)
        }
        let leavesOut = isSent && !keepsOtherRequestBodies && !body.isLeftOut
        switch body {
        case .text(let text):
            return self.text(text, kind).map { .text($0) } ?? (leavesOut ? .leftOut(body) : .text(plain(text)))
        case .base64(let data):
            // Invalid UTF-8 is decoded leniently. The bytes are kept only if the resulting text contains no secret:
            // base64 would not conceal it.
            let text = Self.readable(data)
            if let clean = self.text(text, kind) { return clean == text ? body : .text(clean) }
            let clean = plain(text)
            return leavesOut ? .leftOut(body) : clean == text ? body : .text(clean)
        }
    }

    /// Returns the text without secrets; `nil` if its format has no names for values.
    private func text(_ text: String, _ type: String) -> String? {
        if type.contains("x-www-form-urlencoded") { return form(text[...]) }
        // A GraphQL document also begins with a brace.
        if type.contains("graphql") { return json(text) ?? graphQL(text) }
        // Servers also label JSON as text/plain.
        if Self.looksLikeJSON(text) { return jsonText(text) }
        guard type.isEmpty || type.contains("xml") || type.contains("html") else { return nil }
        return markup(text)
    }

    /// Returns the markup without secrets; `nil` unless the text begins with a tag.
    func markup(_ text: String) -> String? {
        guard Self.firstByte(of: text) == UInt8(ascii: "<") else { return nil }
        var markup = MarkupRedaction(text, by: self)
        return markup.redacted()
    }

    /// Removes secrets from a text of unknown format, which may be markup: servers also label it as text/plain.
    private func plain(_ text: String) -> String {
        pairs(markup(text) ?? text)
    }

    func pairs(_ text: String) -> String {
        var pairs = PairRedaction(text, .plain, by: self)
        return pairs.redacted()
    }

    func graphQL(_ text: String) -> String {
        var pairs = PairRedaction(text, .graphQL, by: self)
        return pairs.redacted()
    }

    private static func readable(_ data: Data) -> String {
        let start = Array(data.prefix(4))
        var text: String?
        if start == [0xFF, 0xFE, 0, 0] || start == [0, 0, 0xFE, 0xFF] {
            text = String(data: data, encoding: .utf32)
        } else if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) {
            text = String(data: data, encoding: .utf16)
        }
        return text ?? String(decoding: data, as: UTF8.self)
    }

    /// Returns the first byte after a byte order mark and white space.
    static func firstByte(of text: String) -> UInt8? {
        let bytes = text.utf8
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return start.first { !isSpace($0) }
    }

    /// Whether a byte is a blank or a line end.
    static func isSpace(_ byte: UInt8) -> Bool { ASCII.isBlank(byte) || byte == 0x0A || byte == 0x0D }

    static func looksLikeJSON(_ text: String) -> Bool {
        let first = firstByte(of: text)
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }
}

extension Cassette.Body {
    /// The placeholder of a request body that is not recorded. Its length distinguishes some bodies when requests are
    /// matched.
    static func leftOut(_ body: Cassette.Body) -> Cassette.Body {
        .text("<redacted: \(body.data.count) bytes>")
    }

    /// Whether this is the placeholder of a body that is not recorded.
    var isLeftOut: Bool {
        guard case .text(let text) = self else { return false }
        return text == CassetteRedaction.replacement || text == MarkupRedaction.replacement
            || text.wholeMatch(of: /<redacted: [0-9]+ bytes>/) != nil
            || text.hasPrefix("<redacted: a body with Content-Encoding ") && text.hasSuffix(" that cannot be decoded>")
    }
}
