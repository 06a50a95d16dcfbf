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
