internal import CurlewCore
internal import Foundation

extension CassetteRedaction {
    /// A request's body without its content codings, whose field goes with them, and without its secrets. What cannot be decoded
    /// is left out, since it may hold some.
    func sent(_ body: Cassette.Body, _ fields: inout [Cassette.Field], type: String) -> Cassette.Body? {
        let coded = CodedBody(fields)
        let isSent = true
        guard coded.hasCodings else { return self.body(body, type: type, isSent: isSent) }
        if let plain = coded.decoded(body.data) {
            Self.removeCodings(&fields)
            return Cassette.Body(plain).map { self.body($0, type: type, isSent: isSent) }
        }
        let leftOut = Cassette.Body.text(
            "<redacted: a body with Content-Encoding \(coded.names) that cannot be decoded>")
        // No coding gives a text: one that is there was never coded, or stands for a body that was left out.
        if case .text = body { return body == leftOut ? body : self.body(body, type: type, isSent: isSent) }
        return leftOut
    }

    /// A response's body, which mostly came without its content codings. Where a secret stands under one, the coding goes with it.
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

    /// The body without its secrets. `type` is the media type as it stands in the field: a boundary's case counts. `isSent`: a body
    /// that cannot be read is left out.
    func body(_ body: Cassette.Body, type: String, isSent: Bool, depth: Int = 0) -> Cassette.Body {
        let kind = type.lowercased()
        if kind.hasPrefix("multipart/") {
            // Where one part ends and the next begins is not known otherwise, nor which of them is secret.
            let clean = MultipartRedaction(redaction: self, isSent: isSent, depth: depth)
                .redacted(Array(body.data), type: type)
            return clean.flatMap { Cassette.Body(Data($0)) } ?? .text(Self.replacement)
        }
        let leavesOut = isSent && !keepsOtherRequestBodies && !body.isLeftOut
        switch body {
        case .text(let text):
            return self.text(text, kind).map { .text($0) } ?? (leavesOut ? .leftOut(body) : .text(plain(text)))
        case .base64(let data):
            // Bytes that are not UTF-8 are read as far as they can be, and stay as they are only if that text holds no
            // secret: base64 hides nothing.
            let text = Self.readable(data)
            if let clean = self.text(text, kind) { return clean == text ? body : .text(clean) }
            let clean = plain(text)
            return leavesOut ? .leftOut(body) : clean == text ? body : .text(clean)
        }
    }

    /// `nil` for what is in none of the formats that have names for their values.
    private func text(_ text: String, _ type: String) -> String? {
        if type.contains("x-www-form-urlencoded") { return form(text[...]) }
        // A document begins with a brace too.
        if type.contains("graphql") { return json(text) ?? graphQL(text) }
        // Servers label JSON as text/plain too.
        if Self.looksLikeJSON(text) { return jsonText(text) }
        guard type.isEmpty || type.contains("xml") || type.contains("html") else { return nil }
        return markup(text)
    }

    /// `nil` unless the text begins with a tag.
    private func markup(_ text: String) -> String? {
        guard Self.firstByte(of: text) == UInt8(ascii: "<") else { return nil }
        var markup = MarkupRedaction(text, by: self)
        return markup.redacted()
    }

    /// Servers label markup as text/plain too.
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

    /// Behind a byte order mark and blanks.
    private static func firstByte(of text: String) -> UInt8? {
        let bytes = text.utf8
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return start.first { !isSpace($0) }
    }

    /// Whether a byte is a blank or ends a line.
    static func isSpace(_ byte: UInt8) -> Bool { ASCII.isBlank(byte) || byte == 0x0A || byte == 0x0D }

    static func looksLikeJSON(_ text: String) -> Bool {
        let first = firstByte(of: text)
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }
}

extension Cassette.Body {
    /// Stands for a request's body that is not kept. Its length tells some bodies apart when a request is looked for.
    static func leftOut(_ body: Cassette.Body) -> Cassette.Body {
        .text("<redacted: \(body.data.count) bytes>")
    }

    /// Whether it stands for a body that is not kept.
    var isLeftOut: Bool {
        guard case .text(let text) = self else { return false }
        return text == CassetteRedaction.replacement || text == MarkupRedaction.replacement
            || text.wholeMatch(of: /<redacted: [0-9]+ bytes>/) != nil
            || text.hasPrefix("<redacted: a body with Content-Encoding ") && text.hasSuffix(" that cannot be decoded>")
    }
}
