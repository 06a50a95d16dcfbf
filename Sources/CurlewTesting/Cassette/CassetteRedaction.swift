internal import CurlewCore
internal import Foundation

/// The rules that remove secrets from a cassette: the names that Curlew treats as secret in its logs and curl commands,
/// and the names added here. Names are compared without regard to case.
///
///     var redaction = CassetteRedaction()
///     redaction.headers.insert("x-session")
///     redaction.change = { $0.response?.headers.removeAll { $0.name == "Date" } }
///
/// Values are replaced with `<redacted>`, and numbers in JSON with 0; the names of cookies are kept. The redaction is
/// applied to an exchange before it is recorded. It is also applied to a request before it is matched, so that a request
/// with another token finds the recorded one.
///
/// | of | a cassette keeps |
/// |---|---|
/// | URLs, also in fields | everything but user information, secret values, and items without a name |
/// | header fields | everything but secret fields, those that name the client (`Forwarded`), and `Sec-WebSocket-Protocol` |
/// | JSON, forms, multipart, XML, HTML, GraphQL | everything but secret values |
/// | URLs in JSON and in attributes | everything but user information and secret values |
/// | scripts, comments and URLs in the text of XML and HTML | everything |
/// | other request bodies | their length, because a text or a message in a custom format may be a secret as a whole |
/// | other response bodies | everything but `name: value` pairs with a secret name |
public struct CassetteRedaction: Sendable {
    /// Additional fields whose values are secret.
    public var headers: Set<String> = []
    /// Additional names of query items, form fields, parts of multipart bodies and members of JSON objects, at any
    /// depth, whose values are secret.
    public var names: Set<String> = ["key", "code"]
    /// Query items without a value that are kept, because they select the resource. Other items without a name may be
    /// secrets.
    public var flags: Set<String> = [
        "acl", "cors", "delete", "lifecycle", "location", "logging", "policy", "tagging", "uploads", "versioning",
        "versions", "website", "wsdl", "xsd",
    ]
    /// Whether request bodies are kept that are neither JSON, a form, multipart, XML nor GraphQL.
    public var keepsOtherRequestBodies = false
    /// An additional change, applied last. For a body that is left out, it sees the placeholder with the length, both
    /// when recording and when matching.
    public var change: @Sendable (inout Cassette.Exchange) -> Void = { _ in }

    /// The text that replaces a secret.
    public static let replacement = "<redacted>"

    /// The nesting depth of the text: a URL in the query of a URL, JSON in a form.
    private var depth = 0

    /// The limit on nesting. Without it, only the length of a URL would bound the work.
    private static let greatestDepth = 4

    /// Creates the default redaction.
    public init() {}

    /// Returns the exchange without secrets.
    public func redacted(_ exchange: Cassette.Exchange) -> Cassette.Exchange {
        var exchange = clean(exchange)
        change(&exchange)
        return exchange
    }

    /// Applies everything except `change`, which is not necessarily idempotent.
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

    /// Whether the name of a header field, or of a similar line of text, is secret.
    func isSecretField(_ name: String) -> Bool {
        let name = name.lowercased()
        return SecretNames.containsField(name) || Self.clientFields.contains(name)
            || headers.contains { $0.lowercased() == name }
    }

    /// Fields that identify the client.
    private static let clientFields: Set<String> = [
        "forwarded", "x-forwarded-for", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip",
    ]

    // Texts are split by Unicode scalars here and below: a combining mark would form one `Character` with a separator.

    /// Removes secrets from a value that may be a URL or contain some: `Origin`, `X-Original-Url`, a JSON string.
    func references(_ text: String, keepsNameless: Bool = false) -> String {
        guard Self.mayBeReference(text) else {
            // In a body, a value may also be a form: `password=s3cret&user=ada`.
            return keepsNameless && !text.contains(where: \.isWhitespace) ? form(text[...], keepsNameless: true) : text
        }
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
        // A URL may contain an unencoded blank: `https://h/?q=a b&token=…`.
        return hasBlanks ? url(clean, keepsNameless: true) : clean
    }

    private static func mayBeReference(_ text: String) -> Bool { text.utf8.contains { "/?#".utf8.contains($0) } }

    private func reference(_ word: Substring, keepsNameless: Bool) -> String {
        let marks = word.unicodeScalars.ranges(of: "://".unicodeScalars).map(\.lowerBound)
        // In a body, a relative URL may begin with any character, because only secret names change it.
        let isRelative = word.unicodeScalars.first == "/" || keepsNameless && Self.mayBeReference(String(word))
        guard !marks.isEmpty || isRelative else { return String(word) }
        guard marks.count > 1 else { return url(String(word), keepsNameless: keepsNameless) }
        // A list of URLs without spaces, or a URL in the query of another: each is checked up to the start of the next.
        // Items after an inner URL without a query belong to the outer one.
        let starts = [word.startIndex] + marks.dropFirst()
        let ends = starts.dropFirst() + [word.endIndex]
        let isClean = zip(starts, ends).allSatisfy { start, end in
            let part = String(word.unicodeScalars[start..<end])
            let items = Substring(part.unicodeScalars.drop { $0 != "&" })
            return url(part, keepsNameless: keepsNameless) == part && form(items, keepsNameless: true) == items
        }
        return isClean ? String(word) : Self.replacement
    }

    /// Keeps names and the attributes of Set-Cookie, because tested code reads them.
    private static func cookie(_ text: String, isSet: Bool) -> String {
        parts(of: text[...], at: ";").enumerated().map { index, pair in
            guard index == 0 || !isSet else { return String(pair) }
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else { return replacement }
            return String(pair.unicodeScalars[...equals]) + replacement
        }.joined(separator: ";")
    }

    /// Removes user information and the values of secret items in path, query and fragment. With `keepsNameless`, items
    /// without a name are kept: a URL in a body is data that tested code reads, and only names mark its secrets.
    func url(_ text: String, keepsNameless: Bool = false) -> String {
        Redaction.reference(text) {
            withoutParameters(Self.withoutUser($0))
        } items: {
            form($0, keepsNameless: keepsNameless)
        }
    }

    /// Removes the values of secret path parameters: `/app;jsessionid=s3cret/page`.
    private func withoutParameters(_ path: String) -> String {
        Self.parts(of: path[...], at: ";").enumerated().map { index, part in
            guard index > 0, let equals = part.unicodeScalars.firstIndex(of: "=") else { return String(part) }
            let name = part[..<equals].trimmingCharacters(in: .whitespacesAndNewlines)
            // The path may be a sentence, and so its names.
            guard !name.contains(where: \.isWhitespace), isSecret(Redaction.decoded(name[...])) else {
                return String(part)
            }
            let end = part.unicodeScalars[equals...].firstIndex(of: "/") ?? part.endIndex
            return String(part.unicodeScalars[...equals]) + Self.replacement + String(part[end...])
        }.joined(separator: ";")
    }

    /// Removes user information from a URL and from further URLs in its path.
    private static func withoutUser(_ text: Substring) -> String {
        var rest = text.unicodeScalars[...]
        var clean = ""
        var mark = "//"
        while let start = rest.firstRange(of: mark.unicodeScalars)?.upperBound {
            let end = rest[start...].firstIndex(of: "/") ?? rest.endIndex
            clean += String(rest[..<start])
            let user = rest[start..<end].lastIndex(of: "@").map { rest[start..<$0] }
            // In a sentence, a mail address may follow a host: `https://h or ada@h`.
            let isSentence = user.map { $0.contains(where: \.properties.isWhitespace) && !$0.contains(":") } ?? true
            rest = isSentence ? rest[start...] : rest[start...].dropFirst((user?.count ?? 0) + 1)
            mark = "://"
        }
        return clean + String(rest)
    }

    /// Redacts the URLs of a `Link` field: `<URL>; rel=next, <URL>`.
    private func links(_ text: String) -> String {
        // An angle bracket of a replacement must not end a URL when the field is redacted again.
        let text = text.replacing(Self.replacement, with: "\0")
        var shown = ""
        var rest = text.unicodeScalars[...]
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            shown += references(String(rest[...open]), keepsNameless: true)
            shown += url(String(rest[open..<close].dropFirst()))
            rest = rest[close...]
        }
        shown += references(String(rest), keepsNameless: true)
        return shown.replacing("\0", with: Self.replacement)
    }

    /// Redacts the items of a form, a query or a fragment.
    func form(_ text: Substring, keepsNameless: Bool = false) -> String {
        Self.parts(of: text, at: "&").map { pair in
            guard let equals = pair.unicodeScalars.firstIndex(of: "=") else {
                let stays = pair.isEmpty || keepsNameless || flags.contains(Redaction.decoded(pair))
                return stays ? String(pair) : Self.replacement
            }
            let name = Redaction.decoded(pair[..<equals])
            let value = pair.unicodeScalars[pair.unicodeScalars.index(after: equals)...]
            // Other separators: `a=1;token=…`, in markup `&amp;token=…`, in the fragment of a router `/page?token=…`.
            let last = name.split { $0 == ";" || $0 == "?" }.last
            let isHidden =
                isSecret(name) || last.map { isSecret(String($0)) } ?? false || name.isEmpty && !keepsNameless
                || hasSecrets(Redaction.decoded(Substring(value)), in: name)
            return isHidden ? String(pair.unicodeScalars[...equals]) + Self.replacement : String(pair)
        }.joined(separator: "&")
    }

    /// Whether a value is a URL, JSON or a GraphQL document that contains a secret, or is nested too deeply to be
    /// checked.
    private func hasSecrets(_ value: String, in name: String) -> Bool {
        let looksLikeJSON = Self.looksLikeJSON(value)
        guard depth < Self.greatestDepth else {
            return looksLikeJSON || name == "query" || Self.mayBeReference(value) || value.contains("=")
        }
        var inner = self
        inner.depth += 1
        if looksLikeJSON, let clean = inner.json(value) { return clean != value }
        if inner.references(value, keepsNameless: true) != value { return true }
        if name == "query" { return graphQL(value) != value }
        // Truncated JSON, or a similar format such as `filter={pin:1234}`. Its pairing of names and values is unknown,
        // so any secret name counts.
        return looksLikeJSON && Self.words(of: value).contains { isSecretAnywhere(String($0)) }
    }

    /// Returns the names and simple values of a text whose format is not known exactly.
    static func words(of text: String) -> [Substring] {
        text.split { !($0.isLetter || $0.isNumber || "_-.".contains($0)) }
    }

    /// Whether a name is secret in a body or as a header field.
    func isSecretAnywhere(_ name: String) -> Bool { isSecret(name) || isSecretField(name) }

    /// Whether the value of a member, a form field or an element with this name is secret.
    func isSecret(_ name: String) -> Bool { isNamed(name) || SecretNames.containsMember(name) }

    static func parts(of text: Substring, at separator: Unicode.Scalar) -> [Substring] {
        text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map(Substring.init)
    }

    /// Whether `names` contains this name.
    func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { $0.lowercased() == name }
    }

    private static func type(_ fields: [Cassette.Field]) -> String {
        fields.first { ASCII.equalsIgnoringCase($0.name, "Content-Type") }?.value ?? ""
    }
}
