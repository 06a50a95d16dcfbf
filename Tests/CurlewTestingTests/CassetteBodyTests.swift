import CurlewTesting
import Foundation
import Testing

/// Recording of bodies that are multipart, compressed, or not UTF-8.
@Suite("Bodies in cassettes", .timeLimit(.minutes(4)))
struct CassetteBodyTests {
    private func kept(_ body: Data, type: String?) -> Cassette.Body? {
        let headers = type.map { [Cassette.Field("Content-Type", $0)] } ?? []
        let exchange = Cassette.Exchange(
            request: Cassette.Request(
                method: "POST", url: "http://mock.test/", headers: headers, body: Cassette.Body(body)),
            response: Cassette.Response(status: 200, headers: headers, body: Cassette.Body(body)))
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        let clean = redaction.redacted(exchange)
        #expect(clean.request.body == clean.response?.body)
        return clean.request.body
    }

    private func part(_ fields: String..., body: String) -> String {
        fields.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }

    private func disposition(_ parameters: String) -> String { "Content-Disposition: form-data; \(parameters)" }

    private func form(_ parts: [String], boundary: String = "bOUNDary") -> String {
        parts.map { "--\(boundary)\r\n\($0)\r\n" }.joined() + "--\(boundary)--\r\n"
    }

    @Test(
        "the parts of a multipart form are redacted by their names and content types",
        arguments: ["bOUNDary", "\"bOUNDary\""])
    func form(boundary: String) {
        func text(_ password: String, _ pin: String, _ token: String) -> String {
            form([
                part(disposition("name=\"password\""), body: password),
                part(disposition("name=note"), body: "--\r\n s3cret is\r\n--bOUNDaryX\r\nno name"),
                part("content-type: text/plain", disposition("name=\"card[pin]\"; filename=\"a.txt\""), body: pin),
                part(
                    disposition("name=\"data\""), "Content-Type: application/json",
                    body: "{\"access_token\":\"\(token)\"}"),
                part(disposition("name=\"empty\""), body: ""),
            ])
        }
        #expect(
            kept(
                Data(text("s3cret\r\ns3cret", "s3cret", "s3cret").utf8),
                type: "multipart/form-data; boundary=\(boundary)")
                == .text(text("<redacted>", "<redacted>", "<redacted>")))
    }

    @Test("a binary part stays unchanged beside a redacted part")
    func bytes() {
        let image = Data([0x89, 0x50, 0x0D, 0x0A, 0xFF, 0x00])
        func body(_ secret: String) -> Data {
            let head = "--b\r\nContent-Disposition: form-data; name=\"i\"\r\nContent-Type: image/png\r\n\r\n"
            let rest = "\r\n--b\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n\(secret)\r\n--b--"
            return Data(head.utf8) + image + Data(rest.utf8)
        }
        #expect(kept(body("s3cret"), type: "multipart/form-data; boundary=b") == .base64(body("<redacted>")))
    }

    @Test("nested parts and parts without names are redacted by their content types")
    func nested() {
        func text(_ token: String, _ pin: String) -> String {
            let inner = form([part("Content-Type: application/json", body: "{\"token\":\"\(token)\"}")], boundary: "in")
            return form([
                part("Content-Type: multipart/mixed; boundary=in", body: inner),
                part("Content-Type: application/x-www-form-urlencoded", body: "pin=\(pin)&a=b"),
                part(body: "as it was"),
            ])
        }
        #expect(
            kept(Data(text("s3cret", "s3cret").utf8), type: "multipart/mixed; boundary=bOUNDary")
                == .text(text("<redacted>", "<redacted>")))
    }

    @Test("secrets in the header fields of parts are redacted")
    func fieldsOfParts() {
        func text(_ secret: String) -> String {
            form([part("Cookie: \(secret)", "X-Url: /a?token=\(secret)", disposition("name=\"note\""), body: "kept")])
        }
        #expect(
            kept(Data(text("s3cret").utf8), type: "multipart/form-data; boundary=bOUNDary")
                == .text(text("<redacted>")))
    }

    @Test("a secret in a base64 part is redacted")
    func encodedPart() throws {
        let encoded = Data(#"{"token":"s3cret"}"#.utf8).base64EncodedString()
        let clean = Data(#"{"token":"<redacted>"}"#.utf8).base64EncodedString()
        func text(_ content: String) -> String {
            form([part("Content-Type: application/json", "Content-Transfer-Encoding: base64", body: content)])
        }
        let lines = encoded.prefix(8) + "\r\n" + encoded.dropFirst(8)
        #expect(kept(Data(text(String(lines)).utf8), type: "multipart/mixed; boundary=bOUNDary") == .text(text(clean)))
        let harmless = Data(#"{"name":"a"}"#.utf8).base64EncodedString()
        #expect(
            kept(Data(text(harmless).utf8), type: "multipart/mixed; boundary=bOUNDary") == .text(text(harmless)))
    }

    @Test(
        "secrets in malformed multipart bodies are redacted",
        arguments: [
            // A body that ends in the middle.
            ("; boundary=b", "--b\r\nContent-Disposition: form-data; name=pin\r\n\r\ns3c", "<redacted>"),
            // A content type without a boundary, or with a wrong one.
            ("", "--b\r\nContent-Disposition: form-data; name=pin\r\n\r\ns3cret\r\n--b--", "<redacted>\r\n--b--"),
            ("; boundary=c", "--b\r\nContent-Disposition: form-data; name=pin\r\n\r\ns3cret\r\n--b--", "<redacted>"),
            ("", "s3cret", "<redacted>"),
            // Lines that end with a line feed alone, as some programs write them.
            ("; boundary=b", "--b\nContent-Disposition: form-data;\n name=pin\n\ns3cret\n--b--", "<redacted>\n--b--"),
        ])
    func broken(parameters: String, text: String, end: String) {
        guard case .text(let clean) = kept(Data(text.utf8), type: "multipart/form-data\(parameters)") else {
            Issue.record("not a text")
            return
        }
        #expect(!clean.contains("s3c") && clean.hasSuffix(end), "\(clean)")
    }

    @Test(
        "secrets in JSON and forms that are not UTF-8 are redacted",
        arguments: [
            ("application/json", Data(#"{"access_token":"s3cret","name":""#.utf8) + [0xE9, 0x22, 0x7D]),
            ("application/json", #"{"access_token":"s3cret"}"#.data(using: .utf16) ?? Data()),
            ("text/plain; charset=utf-16", #"{"access_token":"s3cret"}"#.data(using: .utf16) ?? Data()),
            ("application/x-www-form-urlencoded", Data("access_token=s3cret&name=".utf8) + [0xE9]),
            (nil, Data(#"{"access_token":"s3cret","name":""#.utf8) + [0xE9, 0x22, 0x7D]),
        ] as [(String?, Data)])
    func otherEncodings(type: String?, body: Data) {
        guard case .text(let clean) = kept(body, type: type) else {
            Issue.record("not a text")
            return
        }
        #expect(clean.contains("access_token") && !clean.contains("s3cret"), "\(clean)")
    }

    @Test("bytes without a secret are kept unchanged")
    func harmless() {
        let bytes = Data(#"{"name":""#.utf8) + [0xE9, 0x22, 0x7D]
        #expect(kept(bytes, type: "application/json") == .base64(bytes))
        #expect(kept(Data([0xFF, 0xFE, 0x00]), type: "image/png") == .base64(Data([0xFF, 0xFE, 0x00])))
    }

    // MARK: Combining marks

    @Test("a combining mark after a separator does not hide a secret", arguments: ["=\u{301}", "=\u{20DD}"])
    func combiningMarks(equals: String) {
        #expect(
            kept(Data("a=1&\u{301}token\(equals)s3cret&b=2".utf8), type: "application/x-www-form-urlencoded")
                == .text("a=1&\u{301}token=<redacted>&b=2"))
        let url = "https://\u{301}me:s3cret@api.test/x?\u{301}token\(equals)s3cret#\u{301}id_token\(equals)s3cret"
        let clean = CassetteRedaction().redacted(
            Cassette.Exchange(
                request: Cassette.Request(
                    method: "GET", url: url,
                    headers: [
                        Cassette.Field("Cookie", "a\(equals)s3cret;\u{301}b=s3cret"),
                        Cassette.Field("Link", "<\u{301}/y?token\(equals)s3cret>; rel=next"),
                    ]))
        ).request
        #expect(clean.url == "https://api.test/x?\u{301}token=<redacted>#\u{301}id_token=<redacted>")
        #expect(
            clean.headers.map(\.value)
                == ["a=<redacted>;\u{301}b=<redacted>", "<\u{301}/y?token=<redacted>>; rel=next"])
    }

    // MARK: Content codings

    /// `{"token":"s3cret","n":1}`, compressed by Python's gzip and zlib.
    private static let gzipped = Data(base64Encoded: "H4sIAAAAAAACA6tWKsnPTs1TslIqNk4uSi1R0lECcgxrAfpJIssYAAAA")
    private static let deflated = Data(base64Encoded: "eJyrVirJz07NU7JSKjZOLkotUdJRAnIMawFi9Ad5")
    private static let raw = Data(base64Encoded: "q1Yqyc9OzVOyUio2Ti5KLVHSUQJyDGsB")

    @Test(
        "a compressed request body is recorded decompressed and redacted",
        arguments: [("gzip", gzipped), ("x-gzip", gzipped), ("deflate", deflated), ("DEFLATE", raw)])
    func compressed(coding: String, body: Data?) throws {
        let clean = redacted(try #require(body), coding: coding)
        #expect(clean.request.body == .text(#"{"n":1,"token":"<redacted>"}"#))
        // Redacting the result again changes nothing.
        #expect(CassetteRedaction().redacted(clean) == clean)
        #expect(!clean.request.headers.contains { $0.name == "Content-Encoding" })
        // A response that still has its coding loses the field, because the redacted body is not compressed.
        #expect(clean.response?.body == clean.request.body)
        #expect(clean.response?.headers.contains { $0.name == "Content-Encoding" } == false)
    }

    @Test("a second redaction leaves a decompressed binary request body unchanged")
    func compressedBytes() throws {
        // Compressed by Python's gzip.
        let packed = try #require(Data(base64Encoded: "H4sIAAAAAAACA/tfx8gEANrMO1YEAAAA"))
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        let clean = redacted(packed, coding: "gzip", by: redaction)
        #expect(clean.request.body == .base64(Data([0xFF, 0x7E, 0x01, 0x02])))
        #expect(redaction.redacted(clean) == clean)
    }

    @Test("redaction of the Content-Encoding field does not prevent the body from being decoded")
    func namedCodings() throws {
        var redaction = CassetteRedaction()
        redaction.headers.insert("content-encoding")
        let clean = redacted(try #require(Self.gzipped), coding: "gzip", by: redaction)
        #expect(clean.request.body == .text(#"{"n":1,"token":"<redacted>"}"#))
    }

    @Test("a request body that cannot be decompressed is replaced by a note", arguments: ["br", "gzip", "gzip, br"])
    func unreadable(coding: String) {
        let clean = redacted(Data([0x1F, 0x8B, 8, 0, 1, 2, 3]), coding: coding)
        #expect(
            clean.request.body
                == .text("<redacted: a body with Content-Encoding \(coding) that cannot be decoded>"))
        #expect(clean.response?.body == .base64(Data([0x1F, 0x8B, 8, 0, 1, 2, 3])))
    }

    private func redacted(
        _ body: Data, coding: String, by redaction: CassetteRedaction = CassetteRedaction()
    ) -> Cassette.Exchange {
        let headers = [
            Cassette.Field("Content-Type", "application/json"), Cassette.Field("Content-Encoding", coding),
        ]
        return redaction.redacted(
            Cassette.Exchange(
                request: Cassette.Request(
                    method: "POST", url: "http://mock.test/", headers: headers, body: Cassette.Body(body)),
                response: Cassette.Response(status: 200, headers: headers, body: Cassette.Body(body))))
    }
}
