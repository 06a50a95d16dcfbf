import CurlewAFNetworking
import Foundation
import Testing

@Suite("Query strings by AFNetworking's rules")
struct QueryStringEncodingTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        let parameters: Parameters
        let query: String

        init(_ parameters: Parameters, _ query: String) {
            (self.parameters, self.query) = (parameters, query)
        }

        var testDescription: String { query }
    }

    private static let rows = [
        Row([:], ""),
        Row(["b": 1, "a": "x y"], "a=x%20y&b=1"),
        Row(
            ["user": ["name": "Ada", "age": 36] as [String: any Any & Sendable]], "user%5Bage%5D=36&user%5Bname%5D=Ada"),
        Row(["a": ["b": ["c": 1]]], "a%5Bb%5D%5Bc%5D=1"),
        Row(["m": [1: "a", 2: "b"]], "m%5B1%5D=a&m%5B2%5D=b"),
        Row(["tags": ["b", "a"]], "tags%5B%5D=b&tags%5B%5D=a"),
        Row(["tags": Set(["c", "a", "b"])], "tags=a&tags=b&tags=c"),
        Row(["numbers": Set([3, 1, 2])], "numbers=1&numbers=2&numbers=3"),
        Row(["gone": NSNull(), "here": 1], "gone&here=1"),
        Row(["gone": Int?.none as any Any & Sendable, "here": Int?.some(2) as any Any & Sendable], "gone&here=2"),
        Row(["deep": ["gone": NSNull()]], "deep%5Bgone%5D"),
        Row(["on": true, "off": false, "one": 1], "off=0&on=1&one=1"),
        Row(["list": [["a": 1], ["a": 2]]], "list%5B%5D%5Ba%5D=1&list%5B%5D%5Ba%5D=2"),
        Row(["q": ":#[]@!$&'()*+,;=?/-._~"], "q=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/-._~"),
        Row(["é": "👩‍👩‍👧"], "%C3%A9=%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"),
    ]

    @Test("parameters are encoded as name-value pairs", arguments: rows)
    private func pairs(row: Row) throws { #expect(try QueryStringEncoding().query(row.parameters) == row.query) }

    private func encoded(
        _ encoding: QueryStringEncoding,
        _ method: HTTPMethod,
        _ parameters: Parameters?,
        url: String = "https://example.com/a"
    ) throws -> URLRequest {
        try encoding.encode(URLRequest(url: url, method: method), with: parameters)
    }

    @Test(
        "parameters are appended to the URL's query, before its fragment",
        arguments: [
            ("https://e.com/a", "https://e.com/a?k=v"), ("https://e.com/a?", "https://e.com/a?k=v"),
            ("https://e.com/a?x=1", "https://e.com/a?x=1&k=v"), ("https://e.com/a?x=1#f", "https://e.com/a?x=1&k=v#f"),
            ("https://e.com#f", "https://e.com?k=v#f"),
        ])
    func joins(url: String, result: String) throws {
        #expect(try encoded(QueryStringEncoding(), .get, ["k": "v"], url: url).url?.absoluteString == result)
    }

    @Test("the methods whose parameters go into the URL can be chosen")
    func methods() throws {
        var encoding = QueryStringEncoding()
        for method in [HTTPMethod.get, .head, .delete] {
            let request = try encoded(encoding, method, ["k": "v"])
            #expect(request.url?.query() == "k=v" && request.httpBody == nil)
        }
        encoding.methodsEncodingParametersInURL = [.post]
        #expect(try encoded(encoding, .post, ["k": "v"]).url?.query() == "k=v")
        #expect(try encoded(encoding, .delete, ["k": "v"]).httpBody == Data("k=v".utf8))
    }

    @Test("a form has its media type even if it is empty")
    func emptyForm() throws {
        for parameters in [nil, [:]] as [Parameters?] {
            let request = try encoded(QueryStringEncoding(), .post, parameters)
            #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
            #expect(request.httpBody == Data())
        }
        #expect(try encoded(QueryStringEncoding(), .get, nil).url?.query() == nil)
    }

    @Test("another body encoding replaces the form, and GET still uses the query")
    func bodies() throws {
        let encoding = QueryStringEncoding(body: JSONEncoding.default)
        #expect(try encoded(encoding, .post, ["k": "v"]).httpBody == Data(#"{"k":"v"}"#.utf8))
        #expect(try encoded(encoding, .get, ["k": "v"]).url?.query() == "k=v")
    }

    @Test("a custom serializer writes the query and the form, and its error is reported")
    func ownSerializer() throws {
        struct Refusal: Error {}
        let own = QueryStringEncoding { request, parameters in
            guard parameters["bad"] == nil else { throw Refusal() }
            return "\(request.httpMethod ?? "")|\(parameters.keys.sorted().joined(separator: "|"))%"
        }
        let request = try encoded(own, .get, ["b": 1, "a": 2])
        #expect(request.url?.absoluteString == "https://example.com/a?GET%7Ca%7Cb%25")
        #expect(try encoded(own, .post, ["a": 2]).httpBody == Data("POST|a%".utf8))
        let error = #expect(throws: CurlewError.self) { try encoded(own, .get, ["bad": 1]) }
        #expect(error?.code == .parameterEncodingFailed)
        #expect(error?.underlying is Refusal)
    }

    @Test("another string encoding is applied to the query, and a text that it cannot express is an error")
    func stringEncoding() throws {
        let latin = QueryStringEncoding(stringEncoding: .isoLatin1)
        #expect(try latin.query(["ü": "ß"]) == "%FC=%DF")
        let error = #expect(throws: CurlewError.self) { try latin.query(["k": "日本"]) }
        #expect(error?.code == .parameterEncodingFailed)
        #expect((error?.underlying as? StringNotExpressible)?.text == "日本")
    }
}
