/// The names whose values are secret: of header fields, query items, form fields and members of JSON objects.
///
/// One list for all that Curlew prints or records, and for what a redirect leaves behind at another origin.
package enum SecretNames {
    /// Parts of names, wherever they stand: `X-Auth-Token`, `client_secret`, `accessToken`.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "passcode", "authorization", "cookie", "session",
        "signature", "credential", "api-key", "api_key", "apikey", "private-key", "private_key", "privatekey",
        "access-key", "access_key", "accesskey", "magic-link", "magic_link", "magiclink",
    ]
    /// Whole words of names. They are short, and parts of words without a secret (`author`, `pint`).
    private static let words: Set<Substring> = [
        "auth", "bearer", "jwt", "jws", "jwe", "otp", "totp", "mfa", "2fa", "pin", "pwd", "pass", "sid", "sig", "hmac",
        "assertion", "csrf", "xsrf", "dpop", "csrftoken", "pat",
    ]
    /// Names with none of these parts and words.
    private static let names: Set<String> = [
        "authentication-info", "proxy-authentication-info", "code_verifier", "x-honeycomb-team", "x-amzn-oidc-data",
        "x-ms-client-principal",
    ]

    /// Whether a header field's value is for the two ends only. Names are compared without regard to case.
    package static func containsField(_ name: String) -> Bool {
        let name = ASCII.lowercased(name)
        if harmlessFields.contains(name) { return false }
        return secretFields.contains(name) || contains(lowercased: name) || isKey(name)
    }

    /// Whether a header field holds a secret: by its name, or because it is a `Referer` with the query, fragment or user
    /// of a URL.
    package static func contains(_ field: HTTPHeader) -> Bool {
        if containsField(field.name) { return true }
        guard ASCII.equalsIgnoringCase(field.name, "Referer") else { return false }
        return field.value.utf8.contains {
            $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "@")
        }
    }

    /// Whether a query item, a form field or a member of a JSON object is secret by its name. Counts of tokens are not.
    package static func containsMember(_ name: String) -> Bool {
        let name = ASCII.lowercased(name)
        return contains(lowercased: name) && !name.hasSuffix("_tokens")
    }

    private static func contains(lowercased name: String) -> Bool {
        names.contains(name) || parts.contains { isPart($0, of: name) }
            || name.split(whereSeparator: isSeparator).contains { words.contains($0) }
    }

    /// Byte by byte, because a cache asks about the fields of every request: all parts cost 1 µs a name, and 6.6 µs
    /// with `String.contains`.
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
        // Nested form fields: `card[pin]`.
        case "[", "]": true
        default: false
        }
    }

    // MARK: Fields alone

    /// Members of a body have these names for other things. A subprotocol is often a token, because a browser can send no
    /// other field of its own with a handshake.
    private static let secretFields: Set<String> = ["authentication", "key", "x-private", "sec-websocket-protocol"]
    /// Fields with the parts and words of secret names that say what is allowed, and how much of it.
    private static let harmlessFields: Set<String> = [
        "access-control-allow-credentials", "sec-websocket-key", "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-input-tokens-limit", "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-limit",
        "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset", "accept-signature",
    ]
    /// What stands before `key` in the names of fields whose key opens nothing.
    private static let harmlessKeys: Set<Substring> = [
        "idempotency", "idempotence", "cache", "surrogate", "public", "partition", "routing", "sort", "dedup",
        "deduplication", "event", "message", "request", "correlation", "trace",
    ]

    /// In a field a key is nearly always one that opens something: `X-Auth-Key`, `Ocp-Apim-Subscription-Key`. In a body it
    /// is a member's name like any other.
    private static func isKey(_ name: String) -> Bool {
        let words = name.split(whereSeparator: isSeparator)
        guard words.count > 1, words.last == "key" else { return false }
        return !harmlessKeys.contains(words[words.count - 2])
    }
}
