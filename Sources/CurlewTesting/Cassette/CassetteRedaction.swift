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
        var request = exchange.request
        let type = Self.type(request.headers)
        request.url = url(request.url)
        request.body = request.body.flatMap { sent($0, &request.headers, type: type) }
        request.headers = fields(request.headers)
        exchange.request = request
        if var response = exchange.response {
            let type = Self.type(response.headers)
            response.body = response.body.map { received($0, &response.headers, type: type) }
            response.headers = fields(response.headers)
            response.trailers = response.trailers.map(fields)
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

    // By scalars, here and below: a mark that combines with what separates parts makes another character of it.

    /// The names, and a Set-Cookie's attributes, stay: code under test looks at them.
    private static func cookie(_ text: String, isSet: Bool) -> String {
        parts(of: text[...], at: ";").enumerated().map { index, pair in
            guard index == 0 || !isSet else { return String(pair) }
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else { return replacement }
            return String(pair.unicodeScalars[...equals]) + replacement
        }.joined(separator: ";")
    }

    /// Without user information and without the values of secret query items; the fragment too may carry some.
    func url(_ text: String) -> String {
        var rest = text[...]
        var end = ""
        if let hash = rest.unicodeScalars.firstIndex(of: "#") {
            end = "#" + form(rest[rest.unicodeScalars.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let question = rest.unicodeScalars.firstIndex(of: "?") {
            end = "?" + form(rest[rest.unicodeScalars.index(after: question)...]) + end
            rest = rest[..<question]
        }
        return Self.withoutUser(rest) + end
    }

    private static func withoutUser(_ text: Substring) -> String {
        let scalars = text.unicodeScalars
        guard let start = scalars.firstRange(of: "//".unicodeScalars)?.upperBound else { return String(text) }
        let end = scalars[start...].firstIndex(of: "/") ?? scalars.endIndex
        guard let at = scalars[start..<end].lastIndex(of: "@") else { return String(text) }
        return String(scalars[..<start]) + String(scalars[scalars.index(after: at)...])
    }

    /// `<URL>; rel=next, <URL>`
    private func links(_ text: String) -> String {
        var shown = ""
        var rest = text.unicodeScalars[...]
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            shown += String(rest[...open]) + url(String(rest[open..<close].dropFirst()))
            rest = rest[close...]
        }
        return shown + String(rest)
    }

    func form(_ text: Substring) -> String {
        Self.parts(of: text, at: "&").map { pair in
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else { return String(pair) }
            let name = String(pair[..<equals]).replacing("+", with: " ")
            let plain = name.removingPercentEncoding ?? name
            guard isNamed(plain) || SecretNames.containsMember(plain) else { return String(pair) }
            return String(pair.unicodeScalars[...equals]) + Self.replacement
        }.joined(separator: "&")
    }

    private static func parts(of text: Substring, at separator: Unicode.Scalar) -> [Substring] {
        text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map(Substring.init)
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
