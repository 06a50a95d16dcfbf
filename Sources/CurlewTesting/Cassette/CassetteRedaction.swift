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
    /// Further names of query items, form fields, parts of multipart bodies and members of JSON objects, at any depth, whose
    /// value is a secret.
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

    func form(_ text: String) -> String {
        text.components(separatedBy: "&").map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return pair }
            let name = pair[..<equals].removingPercentEncoding ?? String(pair[..<equals])
            return isNamed(name) || SecretNames.containsMember(name) ? pair[...equals] + Self.replacement : pair
        }.joined(separator: "&")
    }

    /// Whether `names` has this one.
    func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { $0.lowercased() == name }
    }

    private static func type(_ fields: [Cassette.Field]) -> String {
        fields.first { ASCII.equalsIgnoringCase($0.name, "Content-Type") }?.value ?? ""
    }
}
