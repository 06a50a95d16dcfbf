public import Foundation

/// Removes credentials, cookies, tokens and query values from everything that Curlew prints.
///
/// Use it for URLs that your event monitors and middleware write into logs, traces and metrics:
///
///     func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
///         if let url = urlRequest.url { print(Redaction.redacted(url)) }
///     }
// The functions work on text, because Foundation cannot parse everything that has to be shown as a URL.
public enum Redaction {
    /// Replaces the value of a header field or a password.
    package static let replacement = "<redacted>"
    /// Replaces a value in a URL or in a body.
    package static let mark = "_"

    // MARK: URLs

    /// Returns the URL without user information, and with `_` instead of the values in its query and fragment.
    public static func redacted(_ url: URL) -> URL {
        let text = url.absoluteString
        let shown = reference(text)
        if shown == text { return url }
        // If the redacted text is not a URL, nothing of the original is shown.
        return URL(string: shown) ?? URL(filePath: "/")
    }

    /// Redacts a text that is, or was meant to be, an absolute or relative URL.
    package static func reference(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x3F || $0 == 0x23 || $0 == 0x40 }) else { return text }
        return reference(text, base: withoutUser, items: values)
    }

    /// Redacts a reference: `base` redacts the part before query and fragment, and `items` the items of both.
    package static func reference(
        _ text: String, base: (Substring) -> String, items: (Substring) -> String
    ) -> String {
        var rest = text[...]
        var end = ""
        // Here and below, search for scalars: a separator with a combining mark after it is a different `Character`.
        if let hash = rest.unicodeScalars.firstIndex(of: "#") {
            end = "#" + items(rest[rest.unicodeScalars.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let question = rest.unicodeScalars.firstIndex(of: "?") {
            end = "?" + items(rest[rest.unicodeScalars.index(after: question)...]) + end
            rest = rest[..<question]
        }
        return base(rest) + end
    }

    /// Replaces each value of `a=1&b=2`, and each item that has no name, with `_`.
    private static func values(_ text: Substring) -> String {
        text.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return pair.isEmpty ? "" : mark }
            return String(pair[...equals]) + mark
        }.joined(separator: "&")
    }

    private static func withoutUser(_ text: Substring) -> String {
        guard let slashes = text.range(of: "//") else {
            // In `mailto:` and similar URLs, the text before the last @ may be a password.
            guard let at = text.unicodeScalars.lastIndex(of: "@") else { return String(text) }
            guard let colon = text[..<at].unicodeScalars.firstIndex(of: ":") else {
                return text[..<at].contains("/") ? String(text) : mark + text[at...]
            }
            return String(text.unicodeScalars[...colon]) + mark + text[at...]
        }
        let authority = text[slashes.upperBound...].prefix { $0 != "/" }
        guard let at = authority.unicodeScalars.lastIndex(of: "@") else { return String(text) }
        return String(text[..<slashes.upperBound] + text[text.unicodeScalars.index(after: at)...])
    }

    /// Redacts every URL within a text.
    package static func text(_ text: String) -> String {
        guard text.contains("://") else { return text }
        var shown = ""
        var rest = text[...]
        // The characters that may belong to one URL, or to several without a blank between them. Each run is scanned
        // once.
        var run = rest.prefix(0)
        var lastAt: String.Index?
        while let mark = rest.range(of: "://") {
            if mark.upperBound >= run.endIndex {
                run = rest[mark.upperBound...].prefix { !$0.isWhitespace && !"<>`".contains($0) }
                lastAt = run.unicodeScalars.lastIndex(of: "@")
            }
            let host = hostStart(in: text[mark.upperBound..<run.endIndex], lastAt: lastAt)
            let end = rest[host...].firstIndex { $0.isWhitespace || "\"'<>`".contains($0) } ?? rest.endIndex
            shown += rest[..<mark.upperBound] + reference("//" + rest[host..<end]).dropFirst(2)
            rest = rest[end...]
        }
        return shown + rest
    }

    /// Returns the index after the user information of a URL. A password that was not encoded may contain a quote,
    /// which would end the URL, or a character that would end the authority. In that case, the host begins after the
    /// last `@`.
    private static func hostStart(in run: Substring, lastAt: String.Index?) -> String.Index {
        let authority = run.prefix { !"\"/?#".contains($0) }.unicodeScalars
        var at = authority.lastIndex(of: "@")
        if at == nil, authority.first != "[", let colon = authority.firstIndex(of: ":") {
            let port = authority[colon...].dropFirst()
            let isPort = port.count <= 5 && port.allSatisfy { "0" <= $0 && $0 <= "9" }
            at = isPort ? nil : lastAt.flatMap { $0 < run.startIndex ? nil : $0 }
        }
        return at.map { run.unicodeScalars.index(after: $0) } ?? run.startIndex
    }

    // MARK: Header fields

    private static let references: Set<String> = ["location", "content-location", "referer", "refresh", "link"]

    /// Returns the part of a field's value that may be shown. `more` contains the lower-case names of further secret
    /// fields.
    package static func value(of header: HTTPHeader, andOf more: Set<String> = []) -> String {
        if SecretNames.containsField(header.name) || more.contains(ASCII.lowercased(header.name)) { return replacement }
        guard references.contains(ASCII.lowercased(header.name)) else { return header.value }
        return header.value.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard let close = word.lastIndex(of: ">"), word.hasPrefix("<") else { return reference(String(word)) }
            return "<" + reference(String(word[..<close].dropFirst())) + word[close...]
        }.joined(separator: " ")
    }
}

extension Redaction {
    /// Returns the text of a body with the values of secret fields replaced: in forms and, at any depth, in JSON. Other
    /// text is returned unchanged. Without `showsRejected`, the values that a server repeats in the JSON of a failed
    /// validation are replaced too: `{"field":"password","rejectedValue":"…"}`.
    package static func body(_ text: String, type: String, showsRejected: Bool = true) -> String {
        let type = ASCII.lowercased(type)
        if type.contains("x-www-form-urlencoded") { return form(text) }
        if type.contains("json") { return json(text, showsRejected) }
        // Servers also label JSON as text/plain or text/html, so a text that looks like JSON is redacted under any
        // type.
        let first = text.unicodeScalars.first { !$0.properties.isWhitespace && $0 != "\u{FEFF}" }
        if first == "{" || first == "[" { return json(text, showsRejected) }
        return type.isEmpty ? form(text) : text
    }

    private static func form(_ text: String) -> String {
        let pairs = text.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false)
        // The authorization code of a token request (RFC 6749, 4.1.3). Elsewhere, a code is an ordinary field.
        let hasGrant = pairs.contains { String($0).hasPrefix("grant_type=") }
        return pairs.map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            let name = decoded(Substring(pair[..<equals]))
            guard SecretNames.containsMember(name) || hasGrant && name == "code" else { return String(pair) }
            return String(pair[...equals]) + mark
        }.joined(separator: "&")
    }

    /// Returns a name or value of a form without its encoding; invalid escapes are kept.
    package static func decoded(_ text: Substring) -> String {
        let text = String(text).replacing("+", with: " ")
        return text.removingPercentEncoding ?? text
    }

    /// Members that hold the value that failed a validation, in lower case.
    package static let rejectedMembers: Set<String> = ["value", "rejectedvalue", "attemptedvalue", "input"]

    /// Scans the text instead of decoding it, so that truncated or invalid JSON is redacted as well.
    private static func json(_ text: String, _ showsRejected: Bool) -> String {
        var scanner = JSONRedaction(bytes: Array(text.utf8), showsRejected: showsRejected)
        return String(decoding: scanner.redacted(), as: UTF8.self)
    }
}

/// Scans a JSON text once and replaces the values of members with a secret name.
private struct JSONRedaction {
    let bytes: [UInt8]
    let showsRejected: Bool
    private var position = 0
    private var shown: [UInt8] = []

    init(bytes: [UInt8], showsRejected: Bool) {
        self.bytes = bytes
        self.showsRejected = showsRejected
    }

    mutating func redacted() -> [UInt8] {
        shown.reserveCapacity(bytes.count)
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "\"") else {
                shown.append(bytes[position])
                position += 1
                continue
            }
            let string = takeString()
            shown += string
            guard let name = name(string),
                SecretNames.containsMember(name)
                    || !showsRejected && Redaction.rejectedMembers.contains(ASCII.lowercased(name))
            else { continue }
            let colon = afterBlanks(position)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { continue }
            let value = afterBlanks(colon + 1)
            guard value < bytes.count else { continue }
            shown += bytes[position..<value]
            position = value
            skipValue()
            shown += Array("\"\(Redaction.mark)\"".utf8)
        }
        return shown
    }

    /// Consumes a string including its quotes, or the rest of the text if the closing quote is missing.
    private mutating func takeString() -> ArraySlice<UInt8> {
        let start = position
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { break }
        }
        position = min(position, bytes.count)
        return bytes[start..<position]
    }

    private func name(_ string: ArraySlice<UInt8>) -> String? {
        guard string.contains(UInt8(ascii: "\\")) else {
            return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(string))
    }

    private func afterBlanks(_ start: Int) -> Int {
        var index = start
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        return index
    }

    /// Skips a value and everything up to the next separator, because invalid JSON may continue the value there. A
    /// word that is not a JSON value may be followed by anything: the rest of its line is skipped.
    private mutating func skipValue() {
        let rest = bytes[position...]
        let isJSON =
            "\"{[-0123456789,}]".utf8.contains(bytes[position])
            || ["true", "false", "null"].contains { rest.starts(with: $0.utf8) }
        skipJSONValue()
        let ends = isJSON ? ",}]\r\n" : "\r\n"
        let end = bytes[position...].firstIndex { ends.utf8.contains($0) } ?? bytes.endIndex
        if afterBlanks(position) < end { position = end }
    }

    /// Skips a string, a number or word, or a complete object or array.
    private mutating func skipJSONValue() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                _ = takeString()
                if depth == 0 { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
                if depth == 0 {
                    position += 1
                    return
                }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D: if depth == 0 { return }
            default: break
            }
            position += 1
        }
    }
}

/// Decides which header fields, query items, form fields and JSON members are secret, by their names.
///
/// These lists serve everything that Curlew prints or records, and the headers that a redirect to another origin drops.
package enum SecretNames {
    /// Substrings that make a name secret: `X-Auth-Token`, `client_secret`, `accessToken`.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "passcode", "authorization", "cookie", "session",
        "signature", "credential", "api-key", "api_key", "apikey", "private-key", "private_key", "privatekey",
        "access-key", "access_key", "accesskey", "magic-link", "magic_link", "magiclink",
    ]
    /// Words that make a name secret. They are short, and also occur inside harmless words (`author`, `pint`), so only
    /// a whole word matches.
    private static let words: Set<Substring> = [
        "auth", "bearer", "jwt", "jws", "jwe", "otp", "totp", "mfa", "2fa", "pin", "pwd", "pass", "sid", "sig", "hmac",
        "assertion", "csrf", "xsrf", "dpop", "csrftoken", "pat",
    ]
    /// Secret names that contain none of these parts and words.
    private static let names: Set<String> = [
        "authentication-info", "proxy-authentication-info", "code_verifier", "device_code", "user_code",
        "verification_uri_complete", "x-honeycomb-team", "x-amzn-oidc-data",
        "x-ms-client-principal",
    ]

    /// Whether a header field's value is confidential between client and server. Names are compared without regard to
    /// case.
    package static func containsField(_ name: String) -> Bool {
        let name = ASCII.lowercased(name)
        if harmlessFields.contains(name) { return false }
        return secretFields.contains(name) || contains(lowercased: name) || isKey(name)
    }

    /// Whether a header field contains a secret: because of its name, or because it is a `Referer` whose URL has a
    /// query, a fragment or user information.
    package static func contains(_ field: HTTPHeader) -> Bool {
        if containsField(field.name) { return true }
        guard ASCII.equalsIgnoringCase(field.name, "Referer") else { return false }
        return field.value.utf8.contains {
            $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "@")
        }
    }

    /// Whether a query item, form field or JSON member is secret by its name. Counts of tokens (`…_tokens`) are not.
    package static func containsMember(_ name: String) -> Bool {
        let name = ASCII.lowercased(name)
        return contains(lowercased: name) && !name.hasSuffix("_tokens")
    }

    /// Whether a name is secret as that of a header field or of a member, for texts that may be either.
    package static func containsFieldOrMember(_ name: String) -> Bool { containsField(name) || containsMember(name) }

    private static func contains(lowercased name: String) -> Bool {
        names.contains(name) || parts.contains { isPart($0, of: name) }
            || name.split(whereSeparator: isSeparator).contains { words.contains($0) }
    }

    /// Compares bytes. The cache checks the fields of every request, and `String.contains` is more than ten times as
    /// slow. In addition, it compares characters, and so misses a part before a combining mark.
    private static func isPart(_ part: String, of name: String) -> Bool {
        var rest = name.utf8[...]
        while let start = rest.firstIndex(where: { $0 == part.utf8.first }) {
            if rest[start...].starts(with: part.utf8) { return true }
            rest = rest[start...].dropFirst()
        }
        return false
    }

    private static func isSeparator(_ character: Character) -> Bool {
        switch character {
        case "-", "_", ".", " ": true
        // Brackets separate the words of nested form fields: `card[pin]`.
        case "[", "]": true
        default: false
        }
    }

    // MARK: Header fields only

    /// Names that are secret only as header fields; in a body, members with these names mean other things. A WebSocket
    /// subprotocol is often a token, because browsers let a page set no other field of the handshake.
    private static let secretFields: Set<String> = ["authentication", "key", "x-private", "sec-websocket-protocol"]
    /// Header fields whose names match the lists, but whose values are only settings, limits or counts.
    private static let harmlessFields: Set<String> = [
        "access-control-allow-credentials", "sec-websocket-key", "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-input-tokens-limit", "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-limit",
        "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset", "accept-signature",
    ]
    /// Words before `key` that make the key harmless, as in `Idempotency-Key`.
    private static let harmlessKeys: Set<Substring> = [
        "idempotency", "idempotence", "cache", "surrogate", "public", "partition", "routing", "sort", "dedup",
        "deduplication", "event", "message", "request", "correlation", "trace",
    ]

    /// Whether a name ends with the word `key`, and the word before it does not make the key harmless. In a header
    /// field, such a key nearly always grants access: `X-Auth-Key`, `Ocp-Apim-Subscription-Key`. In a body, `key` is an
    /// ordinary member name.
    private static func isKey(_ name: String) -> Bool {
        let words = name.split(whereSeparator: isSeparator)
        guard words.count > 1, words.last == "key" else { return false }
        return !harmlessKeys.contains(words[words.count - 2])
    }
}
