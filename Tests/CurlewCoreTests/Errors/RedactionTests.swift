internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Redaction", .timeLimit(.minutes(4)))
struct RedactionTests {
    static let references: [(String, String)] = [
        ("https://x.test/p", "https://x.test/p"),
        ("https://u@x.test/p", "https://x.test/p"),
        ("https://u%FF:p@x.test/p", "https://x.test/p"),
        ("https://:p@x.test/p", "https://x.test/p"),
        ("https://x.test/?a=1&b=2&c", "https://x.test/?a=_&b=_&_"),
        ("https://x.test/?a=1=2&=3", "https://x.test/?a=_&=_"),
        ("https://x.test/?SECRET", "https://x.test/?_"),
        ("https://x.test/?", "https://x.test/?"),
        ("https://x.test/?a=1&&b=2", "https://x.test/?a=_&&b=_"),
        ("https://x.test/p#access_token=SECRET&x", "https://x.test/p#access_token=_&_"),
        ("https://x.test/p#SECRET", "https://x.test/p#_"),
        ("https://x.test/p?a=1#b=2?c", "https://x.test/p?a=_#b=_"),
        ("https://u:p@[::1]:8080/@user/x", "https://[::1]:8080/@user/x"),
        ("https://u:p@q@x.test/", "https://x.test/"),
        ("https://u:p@x.test?a=b", "https://x.test?a=_"),
        // Relative references, as in Location.
        ("/next?code=SECRET", "/next?code=_"),
        ("//u:p@x.test/next", "//x.test/next"),
        ("/@user", "/@user"),
        // Curlew requests no such URLs, but a caller may pass them.
        ("mailto:SECRET@x.test", "mailto:_@x.test"),
        ("user:SECRET@x.test", "user:_@x.test"),
        ("SECRET@x.test", "_@x.test"),
    ]

    @Test("URLs lose credentials and values", arguments: references)
    func reference(text: String, expected: String) {
        #expect(Redaction.reference(text) == expected)
        if let url = URL(string: text) { #expect(Redaction.redacted(url).absoluteString == expected) }
        // Redaction is idempotent.
        #expect(Redaction.reference(expected) == expected)
    }

    @Test(
        "combining marks next to separators do not prevent redaction",
        arguments: [
            ("https://u:SECRET@\u{301}x.test/", "https://\u{301}x.test/"),
            ("https://x.test/?\u{301}a=SECRET", "https://x.test/?\u{301}a=_"),
            ("https://x.test/?a=\u{301}SECRET&\u{301}b=SECRET", "https://x.test/?a=_&\u{301}b=_"),
            ("https://x.test/p#\u{301}SECRET", "https://x.test/p#_"),
            ("user:\u{301}SECRET@\u{301}x.test", "user:_@\u{301}x.test"),
        ]
    )
    func combiningMarks(text: String, expected: String) {
        #expect(Array(Redaction.reference(text).unicodeScalars) == Array(expected.unicodeScalars))
        let body = Redaction.body("a=1&password=\u{301}SECRET&b=2", type: "application/x-www-form-urlencoded")
        #expect(!body.contains("SECRET") && body.hasSuffix("&b=2"), "\(body)")
    }

    @Test("URLs inside other texts are redacted")
    func texts() {
        #expect(Redaction.text("nothing here?") == "nothing here?")
        #expect(
            Redaction.text("failed: \"https://u:p@x.test/a?b=c\" and <http://y.test/#d> at 10:30")
                == "failed: \"https://x.test/a?b=_\" and <http://y.test/#_> at 10:30")
        #expect(Redaction.text("https://x.test/?a=b") == "https://x.test/?a=_")
        #expect(Redaction.text("://") == "://")
        // The time is linear; with a scan of the rest for each URL, the test would exceed its limit.
        let long = String(repeating: "://a:b\"", count: 60_000)
        #expect(Redaction.text(long) == long)
    }

    @Test(
        "secret fields are recognized by their names",
        arguments: [
            ("Authorization", true), ("proxy-authorization", true), ("COOKIE", true), ("Set-Cookie", true),
            ("X-Api-Key", true), ("X-Auth-Token", true), ("X-CSRF-Token", true), ("X-Amz-Security-Token", true),
            ("Session-Id", true), ("Signature", true), ("Content-Type", false), ("Accept", false), ("ETag", false),
            ("Access-Control-Allow-Credentials", false), ("WWW-Authenticate", false), ("Idempotency-Key", false),
            ("X-Auth", true), ("X-Auth-Key", true), ("Ocp-Apim-Subscription-Key", true), ("DD-APPLICATION-KEY", true),
            ("X-Functions-Key", true), ("X-Access-Key", true), ("X-JWT", true), ("X-Goog-Iap-Jwt-Assertion", true),
            ("OK-ACCESS-PASSPHRASE", true), ("X-Bearer", true), ("X-Otp", true), ("Private-Token", true),
            ("X-Amz-Credential", true), ("X-Goog-Api-Key", true), ("Authentication-Info", true), ("X-GitHub-OTP", true),
            ("Fastly-Key", true), ("X-Shopify-Hmac-Sha256", true), ("X-Cache-Key", false), ("Surrogate-Key", false),
            ("Sec-WebSocket-Key", false), ("X-RateLimit-Remaining-Tokens", false), ("Author", false),
            ("Keep-Alive", false),
            ("X-Author", false), ("Public-Key-Pins", false), ("Accept-Encoding", false), ("X-Request-Id", false),
            ("X-Key-Id", false), ("Origin", false), ("traceparent", false), ("Key", true), ("Authentication", true),
            ("X-Access-Key-Id", true), ("X-JWS", true), ("X-Magic-Link", true), ("X-Private", true),
            ("Access-Control-Token", true), ("X-RateLimit-Token", true), ("Ratelimit-Api-Key", true),
            ("Sec-WebSocket-Protocol", true), ("Sec-WebSocket-Accept", false), ("RateLimit-Policy", false),
            ("Access-Control-Allow-Private-Network", false), ("Access-Control-Allow-Headers", false),
            ("DPoP", true), ("X-Pin", true), ("X-CSRF", true), ("X-Hmac", true),
            ("Anthropic-RateLimit-Tokens-Limit", false), ("Anthropic-RateLimit-Output-Tokens-Reset", false),
            ("Accept-Signature", false),
            // A secret word may start inside a partial match: "totoken" contains "token".
            ("X-Totoken", true), ("X-Secsecret", true), ("X-Tokentoke", true), ("X-Toke", false), ("X-Secre", false),
        ])
    func fields(name: String, isSecret: Bool) {
        #expect(SecretNames.containsField(name) == isSecret)
        #expect(HTTPHeader(name: name, value: "SECRET").description.contains("SECRET") == !isSecret)
    }

    @Test("URLs in fields are redacted")
    func referenceFields() {
        #expect(
            "\(HTTPHeader(name: "Location", value: "https://u:p@x.test/?code=S"))" == "Location: https://x.test/?code=_"
        )
        #expect(
            "\(HTTPHeader(name: "Link", value: "<https://x.test/?t=S>; rel=\"next\", </y?z=S>; rel=prev"))"
                == "Link: <https://x.test/?t=_>; rel=\"next\", </y?z=_>; rel=prev")
        let asked = HTTPHeader(name: "X-Mine", value: "SECRET")
        #expect(Redaction.value(of: asked, andOf: ["x-mine"]) == "<redacted>")
        #expect(Redaction.value(of: asked) == "SECRET")
    }

    static let bodies: [(String, String, String)] = [
        ("application/x-www-form-urlencoded", "user=ada&password=S&x", "user=ada&password=_&x"),
        ("application/x-www-form-urlencoded", "client%5Fsecret=S&Access_Token=S", "client%5Fsecret=_&Access_Token=_"),
        ("application/x-www-form-urlencoded", "card[pin]=S&a%5Bpwd%5D=S&b[]=1", "card[pin]=_&a%5Bpwd%5D=_&b[]=1"),
        ("application/json", #"{"user":"ada","password":"S"}"#, #"{"user":"ada","password":"_"}"#),
        ("application/json", #"{"field":"email","value":"ada"}"#, #"{"field":"email","value":"ada"}"#),
        (
            "application/json; charset=utf-8", #"{ "a" : { "apiKey" : 12 , "b": 1 } }"#,
            #"{ "a" : { "apiKey" : "_" , "b": 1 } }"#
        ),
        ("application/json", #"{"credentials":{"a":["}",2]},"b":1}"#, #"{"credentials":"_","b":1}"#),
        ("application/json", #"{"pass\u0077ord":"S\"S","b":1}"#, #"{"pass\u0077ord":"_","b":1}"#),
        ("application/json", #"["token","S"]"#, #"["token","S"]"#),
        (
            "application/json",
            #"{"user_code":"S","verification_uri":"https://e.com/d","verification_uri_complete":"https://e.com/d/S"}"#,
            #"{"user_code":"_","verification_uri":"https://e.com/d","verification_uri_complete":"_"}"#
        ),
        ("application/json", #"{"max_tokens":5}"#, #"{"max_tokens":5}"#),
        // Bodies that a limit has cut off.
        ("application/json", #"{"token":"SSS"#, #"{"token":"_""#),
        ("application/json", #"{"token":"#, #"{"token":"#),
        ("application/json", #"{"token""#, #"{"token""#),
        ("text/plain", "password=S", "password=S"),
        ("text/plain", #"{"token":"S"}"#, #"{"token":"_"}"#),
        ("text/html; charset=utf-8", #"[{"token":"S"}]"#, #"[{"token":"_"}]"#),
        ("", #" {"token":"S"}"#, #" {"token":"_"}"#),
        ("", "token=S", "token=_"),
        ("", "", ""),
    ]

    @Test("values of fields with secret names are redacted in bodies", arguments: bodies)
    func body(type: String, text: String, expected: String) {
        #expect(Redaction.body(text, type: type) == expected)
    }

    @Test("a body shows no secret wherever it is cut off")
    func cutBodies() {
        let text = #"{"a":[{"access_token":"SECRET1"},{"x":{"password" : {"y":"SECRET2"}}}],"id_token":"SECRET3"}"#
        for length in 0...text.utf8.count {
            let cut = String(decoding: text.utf8.prefix(length), as: UTF8.self)
            #expect(!Redaction.body(cut, type: "application/json").contains("SECRE"), "\(cut)")
        }
    }

    @Test(arguments: [
        ("grant_type=authorization_code&code=c1&redirect_uri=u", false), ("code=c1&grant_type=x", false),
        ("code=c1&country=de", true), ("zip=1&my_grant_type=x&code=c1", true),
    ])
    func codeOfTokenRequestIsRedacted(_ form: String, _ isShown: Bool) {
        #expect(Redaction.body(form, type: "application/x-www-form-urlencoded").contains("c1") == isShown)
    }
}
