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
///
/// | of | a cassette keeps |
/// |---|---|
/// | URLs, also in fields | everything but user information, secret values, and items without a name |
/// | header fields | everything but secret fields, those that name the client (`Forwarded`), and `Sec-WebSocket-Protocol` |
/// | JSON, forms, multipart, XML, HTML, GraphQL | everything but secret values |
/// | URLs in JSON and in attributes | everything but user information and secret values |
/// | scripts, comments and URLs in the text of XML and HTML | everything |
/// | other request bodies | their length, because a text or a message in a format of your own may be a secret as a whole |
/// | other response bodies | everything but `name: value` pairs with a secret name |
public struct CassetteRedaction: Sendable {
    /// Further fields whose value is a secret.
    public var headers: Set<String> = []
    /// Further names of query items, form fields, parts of multipart bodies and members of JSON objects, at any depth, whose
    /// value is a secret.
    public var names: Set<String> = ["key", "code"]
    /// Query items without a value that stay, as they choose what is asked for. All others without a name may be secrets.
    public var flags: Set<String> = [
        "acl", "cors", "delete", "lifecycle", "location", "logging", "policy", "tagging", "uploads", "versioning",
        "versions", "website", "wsdl", "xsd",
    ]
    /// Keeps request bodies that are neither JSON, a form, multipart, XML nor GraphQL.
    public var keepsOtherRequestBodies = false
    /// What else is to change, after the rest. In requests it sees the bodies that are kept: the length of one that is
    /// left out, also when a request is looked for.
    public var change: @Sendable (inout Cassette.Exchange) -> Void = { _ in }

    /// The text that stands in for a secret.
    public static let replacement = "<redacted>"

    /// How many values this text is a value of: a URL in the query of a URL, JSON in a form.
    private var depth = 0

    /// Values may be nested for as long as a URL may be.
    private static let greatestDepth = 4

    /// Creates the usual redaction.
    public init() {}

    /// The exchange without its secrets.
    public func redacted(_ exchange: Cassette.Exchange) -> Cassette.Exchange {
        var exchange = clean(exchange)
        change(&exchange)
        return exchange
    }

    /// Without `change`, which need not give the same result twice.
    func clean(_ exchange: Cassette.Exchange) -> Cassette.Exchange {
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
            guard isSecretField(name) else { return Cassette.Field(field.name, references(field.value)) }
            guard name == "cookie" || name == "set-cookie" else { return Cassette.Field(field.name, Self.replacement) }
            return Cassette.Field(field.name, Self.cookie(field.value, isSet: name == "set-cookie"))
        }
    }

    /// Whether a header field, or a line of a text that looks like one, is secret by its name.
    func isSecretField(_ name: String) -> Bool {
        let name = name.lowercased()
        return SecretNames.containsField(name) || Self.clientFields.contains(name)
            || headers.contains { $0.lowercased() == name }
    }

    /// Fields that name the client.
    private static let clientFields: Set<String> = [
        "forwarded", "x-forwarded-for", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip",
    ]

    // By scalars, here and below: a mark that combines with what separates parts makes another character of it.

    /// A value that may be a URL, or has some among its words: `Origin`, `X-Original-Url`, a string of JSON.
    func references(_ text: String, keepsNameless: Bool = false) -> String {
        guard Self.mayBeReference(text) else { return text }
        var clean = ""
        var hasBlanks = false
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(where: \.properties.isWhitespace) ?? rest.endIndex
            clean += reference(Substring(rest[..<end]), keepsNameless: keepsNameless)
            let next = rest[end...].firstIndex { !$0.properties.isWhitespace } ?? rest.endIndex
            clean.unicodeScalars += rest[end..<next]
            if end < next { hasBlanks = true }
            rest = rest[next...]
        }
        // Some write a blank in a URL as it is: `https://h/?q=a b&token=…`.
        return hasBlanks ? url(clean, keepsNameless: true) : clean
    }

    private static func mayBeReference(_ text: String) -> Bool { text.utf8.contains { "/?#".utf8.contains($0) } }

    private func reference(_ word: Substring, keepsNameless: Bool) -> String {
        let marks = word.unicodeScalars.ranges(of: "://".unicodeScalars).map(\.lowerBound)
        // In a body a relative URL may begin with anything, since only secret names change it.
        let isRelative = word.unicodeScalars.first == "/" || keepsNameless && Self.mayBeReference(String(word))
        guard !marks.isEmpty || isRelative else { return String(word) }
        guard marks.count > 1 else { return url(String(word), keepsNameless: keepsNameless) }
        // A list of URLs without spaces, or a URL in the query of another: each is judged up to the next one.
        let starts = [word.startIndex] + marks.dropFirst()
        let ends = starts.dropFirst() + [word.endIndex]
        let isClean = zip(starts, ends).allSatisfy { start, end in
            let part = String(word.unicodeScalars[start..<end])
            return url(part, keepsNameless: keepsNameless) == part
        }
        return isClean ? String(word) : Self.replacement
    }

    /// The names, and a Set-Cookie's attributes, stay: code under test looks at them.
    private static func cookie(_ text: String, isSet: Bool) -> String {
        parts(of: text[...], at: ";").enumerated().map { index, pair in
            guard index == 0 || !isSet else { return String(pair) }
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else { return replacement }
            return String(pair.unicodeScalars[...equals]) + replacement
        }.joined(separator: ";")
    }

    /// Without user information and without the values of secret query items; the fragment too may carry some.
    /// `keepsNameless`: a URL in a body is data that code under test reads, and only names say what is secret in it.
    func url(_ text: String, keepsNameless: Bool = false) -> String {
        var rest = text[...]
        var end = ""
        if let hash = rest.unicodeScalars.firstIndex(of: "#") {
            end = "#" + form(rest[rest.unicodeScalars.index(after: hash)...], keepsNameless: keepsNameless)
            rest = rest[..<hash]
        }
        if let question = rest.unicodeScalars.firstIndex(of: "?") {
            end = "?" + form(rest[rest.unicodeScalars.index(after: question)...], keepsNameless: keepsNameless) + end
            rest = rest[..<question]
        }
        return Self.withoutUser(rest) + end
    }

    /// A path may hold a further URL.
    private static func withoutUser(_ text: Substring) -> String {
        var rest = text.unicodeScalars[...]
        var clean = ""
        var mark = "//"
        while let start = rest.firstRange(of: mark.unicodeScalars)?.upperBound {
            let end = rest[start...].firstIndex(of: "/") ?? rest.endIndex
            clean += String(rest[..<start])
            let user = rest[start..<end].lastIndex(of: "@").map { rest[start..<$0] }
            // In a sentence the address of a mailbox may follow a host: `https://h or ada@h`.
            let isSentence = user.map { $0.contains(where: \.properties.isWhitespace) && !$0.contains(":") } ?? true
            rest = isSentence ? rest[start...] : rest[start...].dropFirst((user?.count ?? 0) + 1)
            mark = "://"
        }
        return clean + String(rest)
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

    /// The items of a form, a query or a fragment.
    func form(_ text: Substring, keepsNameless: Bool = false) -> String {
        Self.parts(of: text, at: "&").map { pair in
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else {
                let stays = pair.isEmpty || keepsNameless || flags.contains(Self.decoded(pair))
                return stays ? String(pair) : Self.replacement
            }
            let name = Self.decoded(pair[..<equals])
            let value = pair.unicodeScalars[pair.unicodeScalars.index(after: equals)...]
            // In markup, `&amp;` separates items.
            let isSecret = isSecret(name) || name.hasPrefix("amp;") && isSecret(String(name.dropFirst(4)))
            let isHidden =
                isSecret || name.isEmpty && !keepsNameless || hasSecrets(Self.decoded(Substring(value)), in: name)
            return isHidden ? String(pair.unicodeScalars[...equals]) + Self.replacement : String(pair)
        }.joined(separator: "&")
    }

    private static func decoded(_ text: Substring) -> String {
        let text = String(text).replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
    }

    /// Whether a value is itself a URL, JSON or a GraphQL document in which something is secret, or is nested too
    /// deep to be read.
    private func hasSecrets(_ value: String, in name: String) -> Bool {
        let looksLikeJSON = Self.looksLikeJSON(value)
        guard depth < Self.greatestDepth else {
            return looksLikeJSON || name == "query" || Self.mayBeReference(value)
        }
        var inner = self
        inner.depth += 1
        if looksLikeJSON, let clean = inner.json(value) { return clean != value }
        if inner.references(value, keepsNameless: true) != value { return true }
        if name == "query" { return graphQL(value) != value }
        // JSON that was cut off, or a format that only begins like it: `filter={pin:1234}`. How it pairs names and
        // values is not known.
        return looksLikeJSON
            && value.split { !($0.isLetter || $0.isNumber || "_-.".contains($0)) }
                .contains { isSecret(String($0)) || isSecretField(String($0)) }
    }

    /// Whether the value of a member, a form field or an element is secret by its name.
    func isSecret(_ name: String) -> Bool { isNamed(name) || SecretNames.containsMember(name) }

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
