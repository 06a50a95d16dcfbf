internal import CurlewCore
internal import Foundation

extension CassetteRedaction {
    /// Returns JSON, JSON Lines or invalid JSON without secrets.
    func jsonText(_ text: String) -> String {
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
