import Curlew
import CurlewAlamofire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct URLEncodingTests {
    let request = URLRequest(url: URL(string: "https://example.com/")!)

    private func query(
        _ parameters: Parameters?,
        of url: String = "https://example.com/",
        by encoding: URLEncoding = .default
    ) throws -> String? {
        let encoded = try encoding.encode(URLRequest(url: #require(URL(string: url))), with: parameters)
        return URLComponents(url: try #require(encoded.url), resolvingAgainstBaseURL: false)?.percentEncodedQuery
    }

    static let defaults: [(Parameters, String)] = [
        (["foo": "bar"], "foo=bar"),
        (["foo": "bar", "baz": "qux"], "baz=qux&foo=bar"),
        (["foo": NSNumber(value: 25)], "foo=25"),
        (["foo": NSNumber(value: false)], "foo=0"),
        (["foo": NSNumber(value: true)], "foo=1"),
        (["foo": 1], "foo=1"),
        (["foo": 1.1], "foo=1.1"),
        (["foo": 1.0], "foo=1.0"),
        (["foo": NSNumber(value: 1.0)], "foo=1.0"),
        (["foo": true], "foo=1"),
        (["foo": ["a", 1, true] as [any Sendable]], "foo%5B%5D=a&foo%5B%5D=1&foo%5B%5D=1"),
        (["foo": ["bar": 1]], "foo%5Bbar%5D=1"),
        (["foo": ["bar": ["baz": 1]]], "foo%5Bbar%5D%5Bbaz%5D=1"),
        (
            ["foo": ["bar": ["baz": ["a", 1, true] as [any Sendable]]]],
            "foo%5Bbar%5D%5Bbaz%5D%5B%5D=a&foo%5Bbar%5D%5Bbaz%5D%5B%5D=1&foo%5Bbar%5D%5Bbaz%5D%5B%5D=1"
        ),
        (["reserved": ":#[]@!$&'()*+,;="], "reserved=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
        (["reserved": "?/"], "reserved=?/"),
        (["illegal": " \"#%<>[]\\^`{}|"], "illegal=%20%22%23%25%3C%3E%5B%5D%5C%5E%60%7B%7D%7C"),
        (["foo&bar": "baz&qux", "foobar": "bazqux"], "foo%26bar=baz%26qux&foobar=bazqux"),
        (["?foo?": "?bar?"], "?foo?=?bar?"),
        (["foo": "/bar/baz/qux"], "foo=/bar/baz/qux"),
        ([" foo ": " bar "], "%20foo%20=%20bar%20"),
        (["+foo+": "+bar+"], "%2Bfoo%2B=%2Bbar%2B"),
        (["percent": "%25"], "percent=%2525"),
        (
            ["french": "français", "japanese": "日本語", "arabic": "العربية", "emoji": "😃"],
            "arabic=%D8%A7%D9%84%D8%B9%D8%B1%D8%A8%D9%8A%D8%A9&emoji=%F0%9F%98%83&french=fran%C3%A7ais"
                + "&japanese=%E6%97%A5%E6%9C%AC%E8%AA%9E"
        ),
    ]

    @Test(arguments: defaults)
    func writesParametersIntoTheQuery(parameters: Parameters, expected: String) throws {
        #expect(try query(parameters) == expected)
    }

    @Test func leavesTheRequestAloneWithoutParameters() throws {
        #expect(try query(nil) == nil)
        #expect(try query([:]) == nil)
        let post = try URLRequest(url: "https://example.com/", method: .post)
        #expect(try URLEncoding.default.encode(post, with: [:]) == post)
    }

    @Test(arguments: [
        ("https://example.com/?baz=qux", ["foo": "bar"] as Parameters, "baz=qux&foo=bar"),
        ("https://example.com/?hd=%5B1%5D", ["page": "0"], "hd=%5B1%5D&page=0"),
        ("https://example.com/?", ["page": "0"], "page=0"),
    ])
    func keepsTheQueryThatIsThere(url: String, parameters: Parameters, expected: String) throws {
        #expect(try query(parameters, of: url) == expected)
    }

    static let mixed: [any Sendable] = [
        "a", 1, true, ["bar": 2], ["qux": 3], ["quy": ["quz": 3]],
    ]

    @Test(
        arguments: [
            (.noBrackets, "foo=a&foo=1&foo=1"),
            (.indexInBrackets, "foo%5B0%5D=a&foo%5B1%5D=1&foo%5B2%5D=1"),
            (.custom { "\($0).\($1 + 1)" }, "foo.1=a&foo.2=1&foo.3=1"),
        ] as [(URLEncodedFormEncoder.ArrayEncoding, String)])
    func writesKeysOfArraysAsAsked(arrays: URLEncodedFormEncoder.ArrayEncoding, expected: String) throws {
        let parameters: Parameters = ["foo": ["a", 1, true] as [any Sendable]]
        #expect(try query(parameters, by: URLEncoding(arrayEncoding: arrays)) == expected)
    }

    @Test func indexesContainersInArrays() throws {
        let encoding = URLEncoding(arrayEncoding: .indexInBrackets)
        #expect(
            try query(["foo": Self.mixed], by: encoding)
                == "foo%5B0%5D=a&foo%5B1%5D=1&foo%5B2%5D=1&foo%5B3%5D%5Bbar%5D=2&foo%5B4%5D%5Bqux%5D=3"
                + "&foo%5B5%5D%5Bquy%5D%5Bquz%5D=3"
        )
    }

    @Test func writesLiteralBoolsAndNoNumbersAsBools() throws {
        let parameters: Parameters = [
            "a": 1, "b": 0, "c": Int8(1), "d": UInt8(0), "e": 1 as Int64, "f": 0 as UInt64,
            "g": NSNumber(value: 1), "h": NSNumber(value: 0), "i": true, "j": false,
            "k": NSNumber(value: true), "l": NSNumber(value: false),
        ]
        #expect(
            try query(parameters, by: URLEncoding(boolEncoding: .literal))
                == "a=1&b=0&c=1&d=0&e=1&f=0&g=1&h=0&i=true&j=false&k=true&l=false"
        )
    }

    @Test(arguments: ["一二三四五六七八九十", "👨‍👩‍👧‍👦🇺🇳e\u{301}"])
    func escapesLongStringsOfComposedCharacters(unit: String) throws {
        let text = String(repeating: unit, count: 200)
        let expected = text.utf8.map { byte in
            byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
        #expect(try query(["text": text]) == "text=" + expected)
        #expect(expected.removingPercentEncoding == text)
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete])
    func writesIntoTheURL(method: HTTPMethod) throws {
        let request = try URLRequest(url: "https://example.com/", method: method)
        let encoded = try URLEncoding.default.encode(request, with: ["foo": 1, "bar": 2])
        #expect(encoded.url?.absoluteString == "https://example.com/?bar=2&foo=1")
        #expect(encoded.httpBody == nil)
        #expect(encoded.value(forHTTPHeaderField: "Content-Type") == nil)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch])
    func writesIntoTheBody(method: HTTPMethod) throws {
        let request = try URLRequest(url: "https://example.com/", method: method)
        let encoded = try URLEncoding.default.encode(request, with: ["foo": 1, "bar": 2])
        #expect(encoded.url?.absoluteString == "https://example.com/")
        #expect(encoded.httpBody == Data("bar=2&foo=1".utf8))
        #expect(
            encoded.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded; charset=utf-8"
        )
    }

    @Test func destinationDecidesBetweenBodyAndQuery() throws {
        let get = try URLRequest(url: "https://example.com/", method: .get)
        let post = try URLRequest(url: "https://example.com/", method: .post)
        #expect(try URLEncoding.httpBody.encode(get, with: ["a": 1]).httpBody == Data("a=1".utf8))
        #expect(try URLEncoding.queryString.encode(post, with: ["a": 1]).url?.query == "a=1")
    }

    @Test func keepsTheContentTypeOfTheCaller() throws {
        let request = try URLRequest(url: "https://example.com/", method: .post, headers: ["Content-Type": "x/y"])
        let encoded = try URLEncoding.default.encode(request, with: ["a": 1])
        #expect(encoded.headers["Content-Type"] == "x/y")
    }

    @Test func failsWithoutAURL() throws {
        var request = request
        request.url = nil
        let error = #expect(throws: CurlewError.self) { try URLEncoding.default.encode(request, with: ["a": 1]) }
        #expect(error?.code == .parameterEncodingFailed)
        #expect(error?.reason == "URL request to encode was missing a URL.")
    }
}
