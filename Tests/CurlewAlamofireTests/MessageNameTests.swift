import CurlewAlamofire
import Foundation
import Testing

@Suite("Alamofire's names for header fields and encodings")
struct MessageNameTests {
    static let headerTable: [(HTTPHeader, String)] = [
        (.acceptCharset("utf-8"), "Accept-Charset: utf-8"),
        (.acceptLanguage("de"), "Accept-Language: de"),
        (.acceptEncoding("br"), "Accept-Encoding: br"),
        (.contentDisposition("inline"), "Content-Disposition: inline"),
        (.contentEncoding("gzip"), "Content-Encoding: gzip"),
        (.websocketProtocol("chat"), "Sec-WebSocket-Protocol: chat"),
    ]

    @Test("Alamofire's constructors make the well-known header fields", arguments: headerTable)
    func wellKnown(header: HTTPHeader, text: String) { #expect("\(header.name): \(header.value)" == text) }

    @Test("update replaces a field, and sort orders fields by name") func changing() {
        var headers: HTTPHeaders = ["b": "1", "A": "2"]
        headers.update(name: "B", value: "3")
        headers.update(.userAgent("u"))
        #expect(headers.map(\.description) == ["B: 3", "A: 2", "User-Agent: u"])
        #expect(headers.sorted().map(\.name) == ["A", "B", "User-Agent"])
        headers.sort()
        #expect(headers.map(\.name) == ["A", "B", "User-Agent"])
        #expect(HTTPHeader.defaultAcceptEncoding.value == "br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #expect(HTTPHeader.defaultAcceptLanguage.value.contains(";q=1.0"))
        #expect(HTTPHeaders.default["User-Agent"] == HTTPHeader.defaultUserAgent.value)
    }

    @Test("the options of an encoder can be read and changed") func options() throws {
        let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: false, boolEncoding: .literal)
        #expect(!encoder.alphabetizeKeyValuePairs)
        guard case .literal = encoder.boolEncoding else {
            Issue.record("another notation")
            return
        }
        #expect(encoder.allowedCharacters == .afURLQueryAllowed)
        encoder.allowedCharacters.insert("é")
        #expect(try encoder.encode(["a": "é!"]) as String == "a=é%21")
        #expect(
            URLEncoding.default.queryComponents(fromKey: "a b", value: [1, true] as [Any]).map { "\($0)=\($1)" } == [
                "a%20b%5B%5D=1", "a%20b%5B%5D=1",
            ])
        #expect(URLEncoding.default.escape("a&b") == "a%26b")
    }
}
