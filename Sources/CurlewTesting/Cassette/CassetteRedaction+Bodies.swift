internal import CurlewCore
internal import Foundation

extension CassetteRedaction {
    /// A request's body without its content codings, whose field goes with them, and without its secrets. What cannot be decoded
    /// is left out, since it may hold some.
    func sent(_ body: Cassette.Body, _ fields: inout [Cassette.Field], type: String) -> Cassette.Body? {
        let coded = CodedBody(fields)
        guard coded.hasCodings else { return self.body(body, type: type) }
        if let plain = coded.decoded(body.data) {
            Self.removeCodings(&fields)
            return Cassette.Body(plain).map { self.body($0, type: type) }
        }
        // No coding gives a text: this one stands for a body that was left out.
        if case .text = body { return self.body(body, type: type) }
        return .text("<redacted: a body with Content-Encoding \(coded.names) that cannot be decoded>")
    }

    /// A response's body, which mostly came without its content codings. Where a secret stands under one, the coding goes with it.
    func received(_ body: Cassette.Body, _ fields: inout [Cassette.Field], type: String) -> Cassette.Body {
        if let plain = CodedBody(fields).decoded(body.data).flatMap({ Cassette.Body($0) }), plain != body {
            let clean = self.body(plain, type: type)
            if clean != plain {
                Self.removeCodings(&fields)
                return clean
            }
        }
        return self.body(body, type: type)
    }

    private static func removeCodings(_ fields: inout [Cassette.Field]) {
        fields.removeAll { ASCII.equalsIgnoringCase($0.name, "Content-Encoding") }
    }

    /// The body without its secrets. `type` is the media type as it stands in the field: a boundary's case counts.
    func body(_ body: Cassette.Body, type: String, depth: Int = 0) -> Cassette.Body {
        let kind = type.lowercased()
        if kind.hasPrefix("multipart/") {
            // Where one part ends and the next begins is not known otherwise, nor which of them is secret.
            let clean = MultipartRedaction(redaction: self, depth: depth).redacted(Array(body.data), type: type)
            return clean.flatMap { Cassette.Body(Data($0)) } ?? .text(Self.replacement)
        }
        switch body {
        case .text(let text): return .text(self.text(text, kind))
        case .base64(let data):
            // Bytes that are not UTF-8 are read as far as they can be, and stay as they are only if that text holds no
            // secret: base64 hides nothing.
            let text = Self.readable(data)
            let clean = self.text(text, kind)
            return clean == text ? body : .text(clean)
        }
    }

    private func text(_ text: String, _ type: String) -> String {
        if type.contains("x-www-form-urlencoded") { return form(text[...]) }
        // Servers label JSON as text/plain too.
        guard type.contains("json") || Self.looksLikeJSON(text) else { return text }
        if let clean = json(text) { return clean }
        // A value a line, or one that was cut off or is otherwise broken: that is no way out either.
        let lines = text.components(separatedBy: "\n").map { line in line.isEmpty ? line : json(line) }
        let clean = lines.compactMap { $0 }
        return clean.count == lines.count ? clean.joined(separator: "\n") : Redaction.body(text, type: "json")
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

    private static func looksLikeJSON(_ text: String) -> Bool {
        let first = text.utf8.first { !ASCII.isBlank($0) && $0 != 0x0A && $0 != 0x0D }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// nil for what is no JSON. What holds no secret stays as it was written.
    private func json(_ text: String) -> String? {
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
                if isNamed(name), !(member is NSNull) {
                    clean[name] = Self.replacement
                    hasChanged = true
                } else if SecretNames.containsMember(name) {
                    clean[name] = Self.masked(member, &hasChanged)
                } else {
                    clean[name] = json(member, &hasChanged)
                }
            }
            return clean
        }
        if let array = value as? [Any] { return array.map { json($0, &hasChanged) } }
        return value
    }

    /// Of the same types as before: code under test decodes it, and a name is not always right about a secret.
    private static func masked(_ value: Any, _ hasChanged: inout Bool) -> Any {
        if let object = value as? [String: Any] { return object.mapValues { masked($0, &hasChanged) } }
        if let array = value as? [Any] { return array.map { masked($0, &hasChanged) } }
        if value is String {
            hasChanged = true
            return replacement
        }
        guard let number = value as? NSNumber, String(cString: number.objCType) != "c" else { return value }
        hasChanged = true
        return 0
    }
}
