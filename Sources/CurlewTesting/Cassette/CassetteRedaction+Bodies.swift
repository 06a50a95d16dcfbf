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

extension CassetteRedaction {
    /// Returns JSON, JSON Lines or invalid JSON without secrets.
    private func jsonText(_ text: String) -> String {
        json(text) ?? invalidJSON(text)
    }

    private func invalidJSON(_ text: String) -> String {
        let lines = Self.parts(of: text[...], at: "\n").map(String.init)
            .map { $0.utf8.allSatisfy(Self.isSpace) ? $0 : json($0) }
        let clean = lines.compactMap { $0 }
        if clean.count == lines.count { return clean.joined(separator: "\n") }
        // A line does not parse, so the text is truncated or not JSON. The value that belongs to a name such as
        // `"name": "password"` cannot be found.
        let words = Self.words(of: text)
        let hasPairs = zip(words, words.dropFirst()).contains { first, second in
            Self.naming.contains(first.lowercased()) && isSecretAnywhere(String(second))
                // Between the words of a sentence, there are only blanks.
                && text[first.endIndex..<second.startIndex].contains { "\"':=".contains($0) }
        }
        return hasPairs ? Self.replacement : pairs(Redaction.body(text, type: "json"))
    }

    /// Returns the text without secrets, unchanged if it has none; `nil` if it is not JSON.
    func json(_ text: String) -> String? {
        guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)) else { return nil }
        var hasChanged = false
        let clean = json(value, &hasChanged)
        guard hasChanged else { return text }
        return (try? JSONSerialization.data(withJSONObject: clean, options: [.sortedKeys, .withoutEscapingSlashes]))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private func json(_ value: Any, _ hasChanged: inout Bool) -> Any {
        if let object = value as? [String: Any] {
            var clean = object
            for (name, member) in object {
                if SecretNames.containsMember(name) || isNamed(name) && !(isName(member) && hasValue(object))
                    || Self.valued.contains(name.lowercased()) && isNamedSecret(object)
                {
                    clean[name] = Self.masked(member, &hasChanged)
                } else if name == "query", let document = member as? String {
                    clean[name] = changed(document, to: graphQL(document), &hasChanged)
                } else {
                    clean[name] = json(member, &hasChanged)
                }
            }
            return clean
        }
        if let array = value as? [Any] {
            // An array of two, `["password", "…"]`, is another notation for a pair. Only the built-in names count:
            // `["code", "plan"]` is a list.
            if array.count == 2, let name = Self.name(array[0]), SecretNames.containsFieldOrMember(name) {
                return [name, Self.masked(array[1], &hasChanged)]
            }
            return array.map { json($0, &hasChanged) }
        }
        guard let text = value as? String else { return value }
        // JSON is tried before URLs, because JSON that contains a URL must be parsed as JSON.
        if Self.looksLikeJSON(text), let clean = json(text) { return changed(text, to: clean, &hasChanged) }
        return changed(text, to: references(invalidOrMarkup(text), keepsNameless: true), &hasChanged)
    }

    /// Removes secrets from invalid JSON or markup in a JSON string. A string may also begin with a bracket for another
    /// reason: `[Session: 3] Intro`, `<`.
    private func invalidOrMarkup(_ text: String) -> String {
        switch Self.firstByte(of: text) {
        case UInt8(ascii: "{"): invalidJSON(text)
        case UInt8(ascii: "[") where text.contains("\"") || text.contains("':"): invalidJSON(text)
        case UInt8(ascii: "<") where text.contains(">"): markup(text) ?? text
        default: text
        }
    }

    private func changed(_ text: String, to clean: String, _ hasChanged: inout Bool) -> String {
        if clean != text { hasChanged = true }
        return clean
    }

    // MARK: Pairs

    /// Members and attributes that hold a name, and those that hold its value.
    static let naming: Set<String> = [
        "name", "key", "field", "property", "param", "parameter", "header", "k", "propertyname", "path", "loc",
    ]
    static let valued = Redaction.rejectedMembers.union(["values", "content", "val", "v", "data", "text"])

    /// Whether an object is a pair such as `{"name": "password", "value": "…"}`.
    private func isNamedSecret(_ object: [String: Any]) -> Bool {
        object.contains { name, member in Self.naming.contains(name.lowercased()) && isName(member) }
    }

    private func hasValue(_ object: [String: Any]) -> Bool {
        object.keys.contains { Self.valued.contains($0.lowercased()) }
    }

    /// Whether a value is the name of a secret rather than a secret, or the path to one: `["body", "password"]`.
    private func isName(_ value: Any) -> Bool {
        let last = (value as? [Any])?.last { $0 is String }
        return Self.name(last ?? value).map(isSecretAnywhere) ?? false
    }

    /// Returns a value that may be a name.
    private static func name(_ value: Any) -> String? {
        guard let text = value as? String, text.utf8.count <= 64, !text.contains(where: \.isWhitespace) else {
            return nil
        }
        return text
    }

    /// Replaces values without changing their types: tested code decodes them, and a secret name may label a harmless
    /// value.
    private static func masked(_ value: Any, _ hasChanged: inout Bool) -> Any {
        if let object = value as? [String: Any] { return object.mapValues { masked($0, &hasChanged) } }
        if let array = value as? [Any] { return array.map { masked($0, &hasChanged) } }
        if let text = value as? String {
            if text != replacement { hasChanged = true }
            return replacement
        }
        guard let number = value as? NSNumber, String(cString: number.objCType) != "c" else { return value }
        hasChanged = true
        return 0
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

/// The content codings of a body (RFC 9110, 8.4), and their decoding.
private struct CodedBody {
    /// The codings in the order in which they were applied.
    private let codings: [String]

    /// The limit on decoded bodies; larger ones are not decoded.
    private static let largest = 64 << 20

    init(_ fields: [Cassette.Field]) {
        codings = fields.filter { ASCII.equalsIgnoringCase($0.name, "Content-Encoding") }
            .flatMap { $0.value.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map { ASCII.lowercased(String($0)) }
            .filter { $0 != "identity" }
    }

    var hasCodings: Bool { !codings.isEmpty }

    var names: String { codings.joined(separator: ", ") }

    /// Returns the decoded bytes; `nil` for codings other than gzip and deflate, invalid bytes, or a result above the
    /// limit.
    func decoded(_ body: Data) -> Data? {
        var data = body
        for coding in codings.reversed() {
            let plain: Data?
            switch coding {
            case "gzip", "x-gzip": plain = Compression.inflated(data, windowBits: 31, limit: Self.largest)
            // Some servers send raw DEFLATE, without zlib's header.
            case "deflate":
                plain =
                    Compression.inflated(data, windowBits: 15, limit: Self.largest)
                    ?? Compression.inflated(data, windowBits: -15, limit: Self.largest)
            default: plain = nil
            }
            guard let plain else { return nil }
            data = plain
        }
        return data
    }
}
