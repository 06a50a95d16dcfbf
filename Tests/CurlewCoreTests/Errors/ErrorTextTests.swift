import CurlewCore
import Foundation
import Testing

@Suite("Texts of errors", .timeLimit(.minutes(4)))
struct ErrorTextTests {
    @Test(
        "the excerpt of a body shows no secrets",
        arguments: [
            ("Not found:\r\n\u{1B}[2Jnext", "text/html", "Not found: [2Jnext"),
            (#"{"error":"no","access_token":"S3CRET"}"#, "application/json", #"{"error":"no","access_token":"_"}"#),
            (#"{"error":"no","password":"S3CRET"#, "", #"{"error":"no","password":"_""#),
            ("Cannot GET /a?x=S3CRET&y=S3CRET", "text/html", "Cannot GET /a?x=_&y=_"),
            ("Cannot GET /a?ids=1,S3CRET;S3CRET'S3CRET", "text/plain", "Cannot GET /a?ids=_"),
            ("at http://u:S3CRET@x.y/z?S3CRET now", "text/plain", "at http://x.y/z?_ now"),
            ("Authorization: Basic S3CRET=\r\nHost: x", "text/plain", "Authorization:_ Host: x"),
            ("sent Bearer S3CRET to us", "text/plain", "sent Bearer _ to us"),
            ("a=1&password=S3CRET", "application/x-www-form-urlencoded", "a=_&password=_"),
            ("a=1&b=S3CRET", "text/plain", "a=_&b=_"),
            ("password='S3CRET' user=me", "text/plain", "password='_' user=me"),
            ("Cookie: a=S3CRET; b=S3CRET\nok", "", "Cookie:_ ok"),
            ("to https://ada:S3C,RET@db.test/x", "text/plain", "to https://db.test/x"),
            ("to 'https://ada:S3C'RET@db.test/x'", "text/plain", "to 'https://db.test/x'"),
            ("to postgres://ada:S3C/RET@db", "text/plain", "to postgres://db"),
            ("for ada:S3CRET@db", "text/plain", "for ada:_@db"),
            ("for ada:S3C,RET@db", "text/plain", "for ada:_@db"),
            ("password:\n S3CRET", "text/plain", "password:_"),
            ("password:\n S3C RET\nok", "text/plain", "password:_"),
            ("password: |\n  S3CRET", "text/plain", "password:_"),
            ("password: >-\n  S3CRET", "text/plain", "password:_"),
            ("password:\n\n\"S3C\nRET\"", "text/plain", "password:_"),
            ("password: \"S3C\nRET\"", "text/plain", "password:_"),
            ("secrets:\n db: S3C\n api: RET", "text/plain", "secrets:_"),
            ("token=b'S3C RET' x", "text/plain", "token=_"),
            ("token=$'S3C RET' x", "text/plain", "token=_"),
            ("password={S3C RET} x", "text/plain", "password=_"),
            ("token=“S3C RET” x", "text/plain", "token=_"),
            ("token = “S3C RET” x", "text/plain", "token = _"),
            ("password='S3C''R RET' x", "text/plain", "password='_'"),
            ("card[pin][0]=S3CRET", "text/plain", "card[pin][0]=_"),
            ("for ada:S3C'RET@db", "text/plain", "for ada:_@db"),
            ("to https://ada:S3C?RET@db.test/x", "text/plain", "to https://db.test/x"),
            ("to https://ada:S3C#RET@db.test/x", "text/plain", "to https://db.test/x"),
            ("to https://ada:S3C\"RET@db.test/x", "text/plain", "to https://db.test/x"),
            ("to 'https://ada:S3C/R'RET@db.test/x'", "text/plain", "to 'https://db.test/x'"),
            ("to http://db.test:8080?a=me@S3C", "text/plain", "to http://db.test:8080?a=_"),
            ("password=S3C,RET; user=me", "text/plain", "password=_; user=me"),
            ("password='S3C RET' user=me", "text/plain", "password='_' user=me"),
            ("password=\"S3C RET", "text/plain", "password=\"_"),
            ("password=S3C\u{200B}RET", "text/plain", "password=_"),
            ("password: S3C<1RET\nok", "text/plain", "password:_ ok"),
            ("user:password=S3CRET", "text/plain", "user:password=_"),
            ("card[pin]=S3CRET", "text/plain", "card[pin]=_"),
            ("a=1&b=S3C,RET", "text/plain", "a=_&b=_"),
            ("sent NTLM S3C,RET= to us", "text/plain", "sent NTLM _ to us"),
            ("sent Basic YWRhOnBS3CRETw== to us", "text/plain", "sent Basic _ to us"),
            ("sent Basic YTpi to us", "text/plain", "sent Basic _ to us"),
            ("sent negotiate abcdefghijklmnop to us", "text/plain", "sent negotiate _ to us"),
            ("failed to negotiate protocol version", "text/plain", "failed to negotiate protocol version"),
            ("for ada:S3C,R&E=RET@db", "text/plain", "for ada:_"),
            ("for ada:S3C=RET&x@db", "text/plain", "for ada:_"),
            (
                "Contact ada@x.test about https://h/x/y?flag&b=2", "text/plain",
                "Contact ada@x.test about https://h/x/y?_&b=_"
            ),
            ("invalid bearer token eyJS3CRET", "text/plain", "invalid bearer _ _"),
            ("bearer token: S3CRET", "text/plain", "bearer _ _"),
            ("the bearer token has expired", "text/plain", "the bearer _ has expired"),
            ("{Authorization=Bearer S3CRET}", "text/plain", "{Authorization=_"),
            ("Authorization= Bearer S3CRET\nok", "text/plain", "Authorization=_ ok"),
            ("{Cookie=a=S3C; b=RET}", "text/plain", "{Cookie=_"),
            ("token=Bearer S3CRET expired", "text/plain", "token=_ _ expired"),
            ("password=secret,RET expired", "text/plain", "password=_ expired"),
            (#""Cannot GET /a?q=S3C"RET""#, "text/plain", #""Cannot GET /a?q=_"#),
            (#"{"password": 'S3C RET'}"#, "", #"{"password": "_""#),
            (#"{"authorization": Bearer S3CRET}"#, "", #"{"authorization": "_""#),
            (#"{"token": [a] S3CRET, "b": 1}"#, "", #"{"token": "_", "b": 1}"#),
            (#"{"token": "a" S3CRET, "b": 1}"#, "", #"{"token": "_", "b": 1}"#),
            (#"{"a":1,"pin":12"#, "", #"{"a":1,"pin":"_""#),
            (#"{"pin":12 S3CRET, "b": 1}"#, "", #"{"pin":"_", "b": 1}"#),
            (#"{"field":"password","rejectedValue":"S3CRET"}"#, "", #"{"field":"password","rejectedValue":"_"}"#),
            (#"{"loc":["body","password"],"input":"S3CRET"}"#, "", #"{"loc":["body","password"],"input":"_"}"#),
            (#"{"name":"password","value":"S3CRET"}"#, "", #"{"name":"password","value":"_"}"#),
            ("user=a:S3C&password=R@RET", "text/plain", "user=_&password=_"),
            ("Cannot GET /a?token=S3C\"RET", "text/plain", "Cannot GET /a?token=_"),
            ("Cannot GET /a?token=S3C\u{200B}RET", "text/plain", "Cannot GET /a?token=_"),
            ("\"/a?b=S3C\u{200B}RET\" failed", "text/plain", "\"/a?b=_\" failed"),
            (#"data: {"why":"no /a?b=S3CRET","x":"y"}"#, "text/plain", #"data: {"why":"no /a?b=_","x":"y"}"#),
        ])
    func excerpts(body: String, type: String, shown: String) {
        let text = Redaction.excerpt(of: Data(body.utf8), type: type)
        #expect(!text.contains("S3C") && !text.contains("RET"))
        #expect(text == shown)
    }

    @Test(
        "an excerpt shows no markup of a body",
        arguments: [
            ("<Password>S3CRET</Password>", "text/xml", "27 bytes of text/xml"),
            ("\u{FEFF}\n <a>S3CRET</a>", "", "18 bytes"),
            (#"<meta name="csrf-token" content="S3CRET">"#, "text/html; charset=utf-8", "41 bytes of text/html"),
            (#"<!doctype html>"#, "text/plain", "15 bytes of text/plain"),
            (#"Error: <b>S3CRET</b>"#, "text/plain", "Error:…"),
            ("1 < 2 and 3 > 2", "text/plain", "1 < 2 and 3 > 2"),
            (#"{"error":"bad: \u003cpin\u003eS3CRET\u003c/pin\u003e"}"#, "application/json", #"{"error":"bad:…"#),
            ("bad: &lt;password&gt;S3CRET&lt;/password&gt;", "text/plain", "bad:…"),
            ("a &lt; b &amp; c", "text/plain", "a &lt; b &amp; c"),
        ])
    func showsNoMarkup(body: String, type: String, shown: String) {
        #expect(Redaction.excerpt(of: Data(body.utf8), type: type) == shown)
    }

    @Test(
        "the value of a quoted secret name is redacted anywhere in a body",
        arguments: [
            (#"data: {"token":"S3CRET S3CRET"}"#, #"data: {"token":"_"#),
            (#"while(1);{"a":1,"token" : S3CRET}"#, #"while(1);{"a":1,"token" : _"#),
            ("\u{FEFF}{\"token\":\"S3CRET\",\"why\":\"expired\"}", #"{"token":"_","why":"expired"}"#),
            (#"{"why":"expired","body":"{\"token\":\"S3CRET\"}"}"#, #"{"why":"expired","body":"{\"token\":\"_"#),
            (#"{"body":"{\u0022token\u0022:\u0022S3CRET\u0022}"}"#, #"{"body":"{\u0022token\u0022:\_"#),
            ("{'token': 'S3CRET'}", "{'token': '_"),
            (#"x {"credentials":{"a":"S3CRET"}}"#, #"x {"credentials":{"_"#),
            (#"x {"pin":123S3CRET}"#, #"x {"pin":_"#),
            ("the token has expired: see the log", "the token has expired: see the log"),
            (#"{"error":"invalid_token","why":"expired"}"#, #"{"error":"invalid_token","why":"expired"}"#),
        ])
    func seesNames(body: String, shown: String) {
        let text = Redaction.excerpt(of: Data(body.utf8), type: "text/event-stream")
        #expect(!text.contains("S3CRET"))
        #expect(text == shown)
    }

    @Test("the underlying error is described without secrets")
    func redactsUnderlying() {
        struct Foreign: Error, CustomStringConvertible {
            let description = "refused: token=S3CRET, user=me at https://u:S3CRET@x.test/?t=S3CRET"
        }
        var error = CurlewError(.unacceptableStatus, phase: .validation, reason: "no", url: nil)
        error.underlying = Foreign()
        #expect(!error.debugDescription.contains("S3CRET"))
        #expect(
            error.debugDescription.contains("underlying: Foreign: refused: token=_, user=me at https://x.test/?t=_"))
    }

    @Test("the debug description lists the names in a certificate, and the original error of a failed retry")
    func describesDetails() {
        struct Foreign: Error, CustomStringConvertible {
            let description = "refused: token=S3CRET"
        }
        let mismatch = CurlewError.hostMismatch("a.test", names: ["b.test", "*.c.test"])
        #expect(mismatch.debugDescription.contains("names in the certificate: b.test *.c.test\n"))
        #expect(
            CurlewError.hostMismatch("a.test", names: []).debugDescription.contains("names in the certificate: none\n"))
        let original = CurlewError(.truncated, phase: .receive, attempt: 1, responseCode: 200)
        let text = CurlewError.retryFailed(Foreign(), original: original).debugDescription
        #expect(text.contains("original error: CurlewError: \(original.description)\n"))
        let redacted = CurlewError.retryFailed(original, original: Foreign()).debugDescription
        #expect(redacted.contains("original error: Foreign: refused: token=_\n"))
        #expect(!redacted.contains("S3CRET"))
    }

    @Test("an excerpt is bounded, and ends with whole characters")
    func boundsExcerpts() {
        #expect(
            Redaction.excerpt(of: Data(repeating: 0x61, count: 1 << 20)) == String(repeating: "a", count: 160) + "…")
        #expect(Redaction.excerpt(of: Data(String(repeating: "é", count: 9_999).utf8), limit: 9_000).hasSuffix("é…"))
        #expect(Redaction.excerpt(of: Data([0, 1, 2])) == "3 bytes")
        #expect(Redaction.excerpt(of: Data([0xFF, 0x61])) == "2 bytes")
        #expect(Redaction.excerpt(of: Data()) == "")
    }

    @Test(
        "the error of an invalid field names the field, and shows no secret",
        arguments: [
            (HTTPHeader(name: "X Bad", value: "1"), "\"X\"", "U+0020"),
            (HTTPHeader(name: "Authorization: Bearer S3CRET", value: ""), "\"Authorization\"", "U+003A"),
            (HTTPHeader(name: "X-Ü", value: ""), "\"X-\"", "U+00DC"),
            (HTTPHeader(name: "X-Good", value: "S3CRET\r\nInjected: 1"), "X-Good", "line break"),
            (HTTPHeader(name: "", value: "1"), "empty", ""),
        ])
    func namesFields(field: HTTPHeader, name: String, problem: String) {
        let error = CurlewError.invalidHeader(field)
        #expect(error.code == .invalidHeader)
        #expect(error.reason.contains(name) && (problem.isEmpty || error.reason.contains(problem)))
        #expect(!"\(error)".contains("S3CRET") && !error.debugDescription.contains("S3CRET"))
    }

    @Test("the reason of a timeout names the timeout and its value")
    func namesTimeouts() {
        let texts = [
            CurlewError.Code.queueTimedOut, .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut,
        ]
        .map { CurlewError.timeoutReason($0, after: .seconds(3)) }
        for (text, name) in zip(texts, ["queue", "connect", "first-byte", "idle", "total"]) {
            #expect(text.hasSuffix("within 3.0 seconds, the \(name) timeout"))
        }
    }

    @Test("the debug description adds details to the description, and shows no secrets")
    func debugDescription() {
        var error = CurlewError(
            .unacceptableStatus, phase: .validation, reason: "no", url: URL(string: "https://u:S3CRET@x.test/?t=S3CRET")
        )
        error.underlying = URLError(.badURL, userInfo: ["u": URL(string: "https://u:S3CRET@x.test/?t=S3CRET") as Any])
        error.responseCode = 401
        error.responseBody = Data(#"{"why":"expired","token":"S3CRET"}"#.utf8)
        error.metrics = TransferMetrics(
            queued: Date(timeIntervalSince1970: 0), ended: Date(timeIntervalSince1970: 0.0123))
        let text = error.debugDescription
        #expect(text.hasPrefix(error.description + "\n"))
        for part in ["URLError", "expired", "metrics: 12.3 ms", "safe to retry: no", "Check the credentials"] {
            #expect(text.contains(part))
        }
        #expect(!text.contains("S3CRET"))
        #expect("\(error as CurlewError?)".contains("safe to retry"))
    }

    /// The codes without a suggestion: the reason already says what to do, or there is no general remedy.
    private static let withoutSuggestion: Set<CurlewError.Code> = [
        .requestCreationFailed, .parameterEncodingFailed, .multipartEncodingFailed, .bodyUnavailable, .adaptationFailed,
        .addressRefused, .retryFailed, .unacceptableStatus, .validationFailed, .cancelled, .webSocketClosed,
        .unsupported, .`internal`,
    ]

    @Test(
        "suggestions are sentences that name no option of the command and no member of the library",
        arguments: CurlewError.Code.allKnown)
    func suggests(code: CurlewError.Code) {
        let text = CurlewError(code, phase: .connect).recoverySuggestion
        #expect((text == nil) == Self.withoutSuggestion.contains(code))
        guard let text else { return }
        #expect(text.wholeMatch(of: /\p{Lu}.*\./) != nil)
        #expect(text.firstMatch(of: /`|--|(^|\s)\.\w|\w\(/) == nil)
    }

    private static let oldLibcurl = Capabilities(
        version: "7.88.1", versionNumber: 0x075801, features: [], protocols: [], tlsBackend: nil,
        hasCustomResolver: false)

    @Test("a suggestion depends on the status, and the error's own suggestion replaces it")
    func suggestsMore() {
        var error = CurlewError(.unacceptableStatus, phase: .validation, responseCode: 404)
        #expect(error.recoverySuggestion == "Check the URL's path.")
        error.suggestion = "More."
        #expect(error.recoverySuggestion == "More.")
        #expect(CurlewError(.limitExceeded, phase: .receive).recoverySuggestion == "Ask for less, or raise the limit.")
        let lacking = #expect(throws: CurlewError.self) { try Self.oldLibcurl.require(.http3) }
        #expect(lacking?.recoverySuggestion == "Install a libcurl that has the feature.")
    }

    @Test("metrics list only the phases that happened")
    func phases() {
        func date(_ milliseconds: Double) -> Date { Date(timeIntervalSince1970: milliseconds / 1000) }
        var metrics = TransferMetrics(queued: date(0), ended: date(10))
        #expect(metrics.phases == [] && "\(metrics)".hasPrefix("10.0 ms; "))
        (metrics.nameLookupEnded, metrics.connected) = (date(1), date(2))
        #expect(metrics.phases.map(\.name) == ["lookup", "connect", "rest"])
        (metrics.requestSent, metrics.firstByte) = (date(3), date(4))
        #expect(metrics.phases.map(\.name) == ["lookup", "connect", "send", "wait", "receive"])
        metrics.isConnectionReused = true
        #expect(metrics.phases.map(\.name) == ["send", "wait", "receive"] && metrics.phases.first?.start == 0)
        metrics.ended = date(2)
        #expect(metrics.phases.allSatisfy { $0.duration >= 0 })
        var stored = TransferMetrics(queued: date(0), ended: date(1))
        stored.cacheStatus = .hit
        #expect(stored.phases.map(\.name) == ["cache"])
    }

    @Test("metrics describe their phases, the connection and the bytes in one line")
    func describesMetrics() {
        func date(_ milliseconds: Double) -> Date { Date(timeIntervalSince1970: milliseconds / 1000) }
        var metrics = TransferMetrics(queued: date(0), ended: date(12.5))
        metrics.nameLookupEnded = date(0.5)
        metrics.connected = date(2)
        metrics.tlsEstablished = date(7)
        metrics.requestSent = date(7)
        metrics.firstByte = date(12)
        metrics.httpVersion = .http2
        metrics.tlsVersion = "TLSv1.3"
        metrics.remoteAddress = "127.0.0.1:443"
        metrics.bytesSent = 90
        metrics.bytesReceived = 200
        metrics.decodedBytesReceived = 150
        let expected = """
            12.5 ms: lookup 0.5 ms, connect 1.5 ms, TLS 5.0 ms, send 0.0 ms, wait 5.0 ms, receive 0.5 ms; \
            HTTP/2, TLSv1.3, to 127.0.0.1:443; 90 bytes sent, 200 received; body of 150 bytes
            """
        #expect("\(metrics)" == expected)
        #expect("\(metrics as Any)" == expected && "\(metrics as TransferMetrics?)" == "Optional(\(expected))")
    }
}
