internal import CurlewCore
internal import Foundation

/// What must not get into a cassette: what Curlew knows as secret by its name, as in its logs and curl commands, and what
/// is named here. The names are compared without regard to case.
///
///     var redaction = CassetteRedaction()
///     redaction.headers.insert("x-session")
///     redaction.change = { $0.response?.headers.removeAll { $0.name == "Date" } }
///
/// Values give way to `<redacted>`; in cookies the names stay. It is applied when an exchange is recorded,
/// before anything is kept, and to a request again when it is looked for in a cassette, so that a request
/// with another token finds the recorded one.
public struct CassetteRedaction: Sendable {
    /// Further fields whose value is a secret.
    public var headers: Set<String> = []
    /// Further names of query items, form fields and members of JSON objects, at any depth, whose value is a secret.
    public var names: Set<String> = ["key", "code"]
    /// What else is to change, after the rest.
    public var change: @Sendable (inout Cassette.Exchange) -> Void = { _ in }

    /// The text that stands in for a secret.
    public static let replacement = "<redacted>"

    /// Creates the usual redaction.
    public init() {}

    /// The exchange without its secrets.
    public func redacted(_ exchange: Cassette.Exchange) -> Cassette.Exchange {
        var exchange = exchange
        let type = Self.type(exchange.request.headers)
        exchange.request.url = url(exchange.request.url)
        exchange.request.headers = fields(exchange.request.headers)
        exchange.request.body = exchange.request.body.map { body($0, type: type) }
        if var response = exchange.response {
            let type = Self.type(response.headers)
            response.headers = fields(response.headers)
            response.trailers = response.trailers.map(fields)
            response.body = response.body.map { body($0, type: type) }
            exchange.response = response
        }
        change(&exchange)
        return exchange
    }

    private func fields(_ fields: [Cassette.Field]) -> [Cassette.Field] {
        fields.map { field in
            let name = field.name.lowercased()
            switch name {
            case "location", "content-location", "referer", "refresh":
                return Cassette.Field(field.name, url(field.value))
            case "link": return Cassette.Field(field.name, links(field.value))
            default: break
            }
            guard SecretNames.containsField(name) || headers.contains(where: { $0.lowercased() == name }) else {
                return field
            }
            guard name == "cookie" || name == "set-cookie" else { return Cassette.Field(field.name, Self.replacement) }
            return Cassette.Field(field.name, Self.cookie(field.value, isSet: name == "set-cookie"))
        }
    }

    /// The names, and a Set-Cookie's attributes, stay: code under test looks at them.
    private static func cookie(_ text: String, isSet: Bool) -> String {
        text.components(separatedBy: ";").enumerated().map { index, pair in
            guard index == 0 || !isSet else { return pair }
            guard let equals = pair.firstIndex(of: "=") else { return replacement }
            return pair[...equals] + replacement
        }.joined(separator: ";")
    }

    /// Without user information and without the values of secret query items; the fragment too may carry some.
    private func url(_ text: String) -> String {
        var text = text
        var fragment = ""
        if let hash = text.firstIndex(of: "#") {
            fragment = "#" + form(String(text[text.index(after: hash)...]))
            text = String(text[..<hash])
        }
        var query = ""
        if let question = text.firstIndex(of: "?") {
            query = "?" + form(String(text[text.index(after: question)...]))
            text = String(text[..<question])
        }
        if let start = text.range(of: "//")?.upperBound {
            let end = text[start...].firstIndex(of: "/") ?? text.endIndex
            if let at = text[start..<end].lastIndex(of: "@") { text.removeSubrange(start...at) }
        }
        return text + query + fragment
    }

    /// `<URL>; rel=next, <URL>`
    private func links(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            shown += rest[...open] + url(String(rest[open..<close].dropFirst()))
            rest = rest[close...]
        }
        return shown + rest
    }

    private func form(_ text: String) -> String {
        text.components(separatedBy: "&").map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return pair }
            let name = pair[..<equals].removingPercentEncoding ?? String(pair[..<equals])
            return isNamed(name) || SecretNames.containsMember(name) ? pair[...equals] + Self.replacement : pair
        }.joined(separator: "&")
    }

    private func body(_ body: Cassette.Body, type: String) -> Cassette.Body {
        guard case .text(let text) = body else { return body }
        if type.contains("x-www-form-urlencoded") { return .text(form(text)) }
        guard type.contains("json") || type.isEmpty && Self.looksLikeJSON(text) else { return body }
        if let clean = json(text) { return .text(clean) }
        // A value a line, or one that was cut off or is otherwise broken: that is no way out either.
        let lines = text.components(separatedBy: "\n").map { line in line.isEmpty ? line : json(line) }
        let clean = lines.compactMap { $0 }
        return .text(clean.count == lines.count ? clean.joined(separator: "\n") : Redaction.body(text, type: "json"))
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

    private func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { $0.lowercased() == name }
    }

    private static func type(_ fields: [Cassette.Field]) -> String {
        fields.first { ASCII.equalsIgnoringCase($0.name, "Content-Type") }?.value.lowercased() ?? ""
    }
}
