internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Content headers", .timeLimit(.minutes(4)))
struct ContentHeaderTests {
    @Test(
        "file names in nonstandard encodings are decoded, and malformed encodings are left unchanged",
        arguments: [
            ("filename=my%20file%C3%A4.txt", "my fileä.txt"), ("filename=\"50%.html\"", "50%.html"),
            ("filename=%EC%98%88%EC%88%A", "%EC%98%88%EC%88%A"), ("filename=\"%FF.txt\"", "%FF.txt"),
            ("filename=\"ä-%41.html\"", "ä-%41.html"), ("filename=\"a%00b\"", nil),
            ("filename=\"=?UTF-8?B?w6QudHh0?=\"", "ä.txt"), ("filename=\"=?utf-8?q?=C3=A4_b=2Etxt?=\"", "ä b.txt"),
            ("filename=\"=?UTF-8?Q?=C3=A4?= =?UTF-8*de?Q?b?=\"", "äb"),
            ("filename=\"=?UTF-8?Q?=C3?=\"", "=?UTF-8?Q?=C3?="),
            ("filename=\"=?no-charset?Q?a?=\"", "=?no-charset?Q?a?="), ("filename=\"=?UTF-8?B?*?=\"", "=?UTF-8?B?*?="),
            ("filename*=\"UTF-8''a.txt\"", nil), ("filename*=\"UTF-8''a.txt\"; filename=b", "b"),
        ] as [(String, String?)])
    func lenientNames(parameter: String, expected: String?) {
        #expect(ContentDisposition(parsing: "attachment; " + parameter).filename == expected)
        guard let expected else { return }
        // A name that was written is read back unchanged, even if it looks encoded.
        for name in [expected, parameter] {
            #expect(ContentDisposition(parsing: ContentDisposition(filename: name).headerValue).filename == name)
        }
    }

    @Test(
        "a new body updates or removes an existing Content-Length, and removes Content-Encoding",
        arguments: [
            (["Content-Length": "9", "X-Other": "1"], 4, ["Content-Length": "4", "X-Other": "1"]),
            (["content-length": "9", "Content-Encoding": "gzip"], nil, [:]),
            (["Content-Encoding": "gzip"], 4, [:]),
        ] as [(HTTPHeaders, Int?, HTTPHeaders)])
    func newBody(fields: HTTPHeaders, length: Int?, expected: HTTPHeaders) {
        var head = ResponseHead(status: 200, headers: fields)
        head.describeNewBody(length: length)
        #expect(head.headers == expected)
    }

    @Test("media types match patterns")
    func patterns() throws {
        let type = try #require(MediaType("image/PNG; q=1; Boundary=x"))
        #expect(
            type.essence == "image/png" && type.boundary == "x" && type[parameter: "q"] == "1" && type.charset == nil)
        for (pattern, matches) in [
            ("*/*", true), ("image/*", true), ("image/png", true), ("image/gif", false), ("text/*", false),
            ("*/png", true),
        ] {
            #expect(type.matches(try #require(MediaType(pattern))) == matches)
        }
        #expect(MediaType.effective(of: []) == nil && MediaType.effective(of: ["x", "*/*"]) == nil)
    }

    @Test("parameters of media types are quoted only where necessary")
    func writing() throws {
        let type = try #require(MediaType("a/b; x=\"p q\\\"\\\\\"; y=z"))
        #expect(type.description == "a/b;x=\"p q\\\"\\\\\";y=z")
        let combined = MediaType.effective(of: [
            "text/html;charset=gbk", "text/html", "text/html;charset=x;a=\"b,c\\\"\"",
        ])
        #expect(combined?.description == "text/html;charset=x;a=\"b,c\\\"\"")
        #expect(MediaType.effective(of: ["text/html;charset=gbk, text/html"])?.charset == "gbk")
    }

    @Test(
        "a file name is read back as it was written, with every fallback",
        arguments: [ContentDisposition.Fallback.automatic, .none, .text("plain name.txt")])
    func fallbacks(fallback: ContentDisposition.Fallback) {
        let written = ContentDisposition(filename: "ü 100%25.txt", fallback: fallback).headerValue
        #expect(ContentDisposition(parsing: written).filename == "ü 100%25.txt")
        #expect(written.utf8.allSatisfy { $0 < 0x80 })
    }

    static let texts: [(String, [UInt8], String?)] = [
        ("utf-8", [0xEF, 0xBB, 0xBF, 0xC3, 0xA4], "ä"), ("utf-8", [0xFF], nil), ("latin1", [0x80, 0xE4], "€ä"),
        ("ascii", [0x41, 0x81, 0x80], "A\u{81}€"), ("utf-16", [0xFF, 0xFE, 0x41, 0], "A"),
        ("utf-16be", [0, 0x41], "A"),
        ("sjis", [0x93, 0xFA], "日"), ("gbk", [0xC4, 0xE3], "你"), ("big5", [0xC1, 0x63], "繁"),
        ("euc-kr", [0xBF, 0xB9], "예"),
        ("koi8-r", [0xC4], "д"), ("cp866", [0x8F], "П"), ("mac", [0xC4], "ƒ"), ("iso-8859-15", [0xA4], "€"),
        ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42], "日"), ("iso-8859-8-i", [0xF9], "ש"),
        ("windows-1258", [0xD2], "\u{309}"), ("x-user-defined", [0x41], nil), ("euc-jp", [0xC6, 0xFC], nil),
    ]

    @Test("text is decoded by its charset label", arguments: texts)
    func charsets(label: String, bytes: [UInt8], text: String?) throws {
        #expect(try #require(CharsetLabel(label)).decode(Data(bytes)) == text)
    }

    @Test("an unknown charset label is not accepted", arguments: ["", "  ", "utf 8", "utf-7", "ütf-8"])
    func unknown(label: String) { #expect(CharsetLabel(label) == nil) }

    static let names: [(String, String?)] = [
        ("plain.txt", "plain.txt"), ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), ("/", nil),
        ("..", nil),
        (".", nil), (" . . ", nil), (".bashrc", "bashrc"), ("a/b/", "b"), ("a/..", "a"),
        ("x\u{202E}gpj.exe", "xgpj.exe"),
        ("a\u{1}\u{7F}\u{85}b", "ab"), ("  spaced. ", "spaced"), ("C:\\x\\y.txt", "y.txt"), ("\u{2066}\u{FEFF}", nil),
        (String(repeating: "ü", count: 300) + ".tar", String(repeating: "ü", count: 125) + ".tar"),
        (String(repeating: "x", count: 300), String(repeating: "x", count: 255)), ("你好.png", "你好.png"),
    ]

    @Test("a received file name becomes one safe path component", arguments: names)
    func safeNames(name: String, expected: String?) {
        #expect(ContentDisposition(filename: name).safeFilename == expected)
        if let expected {
            #expect(!expected.contains("/") && !expected.hasPrefix(".") && expected.utf8.count <= 255)
        }
    }

    @Test("a file name cannot forge a header")
    func forging() {
        let evil = ContentDisposition(type: "x\r\ny", filename: "a\r\nSet-Cookie: b\0\".txt")
        #expect(HTTPHeader(name: "Content-Disposition", value: evil.headerValue).isValid)
        #expect(
            ContentDisposition(parsing: ContentDisposition(filename: "né\"\\;.txt").headerValue).filename
                == "né\"\\;.txt")
        #expect(ContentDisposition(parsing: "attachment").safeFilename == nil)
        #expect(ContentDisposition(parsing: "Inline; x").type == "inline")
    }

    @Test("a malformed field of challenges is ignored, and other fields are read")
    func challenges() {
        #expect(AuthenticationChallenge.parse(["Basic realm=\"a\", =", "Digest realm=b"]).map(\.scheme) == ["Digest"])
        #expect(AuthenticationChallenge.parse(["Basic realm==a"]).isEmpty)
        #expect(AuthenticationChallenge.parse(["Basic realm=,x=y"]).map(\.token68) == ["realm="])
        #expect(AuthenticationChallenge.parse(["Basic realm="]).map(\.token68) == ["realm="])
        #expect(
            AuthenticationChallenge.parse(["Basic a=\"b\", Bearer, Digest c=d"]).map(\.scheme) == [
                "Basic", "Bearer", "Digest",
            ])
        #expect(
            AuthenticationChallenge.parse(["Basic \"x\""]).isEmpty
                && AuthenticationChallenge.parse(["", ", ,"]).isEmpty)
    }

    @Test(
        "a scheme without parameters is not read as a token of the previous scheme",
        arguments: [
            ("Negotiate, NTLM, Basic", ["Negotiate", "NTLM", "Basic"]),
            ("Digest realm=\"a\", Negotiate, NTLM", ["Digest", "Negotiate", "NTLM"]),
            ("Negotiate, NTLM, Basic realm=\"a\"", ["Negotiate", "NTLM", "Basic"]),
        ])
    func schemesAlone(line: String, schemes: [String]) {
        let challenges = AuthenticationChallenge.parse([line])
        #expect(challenges.map(\.scheme) == schemes)
        #expect(challenges.allSatisfy { $0.token68 == nil })
    }
}
