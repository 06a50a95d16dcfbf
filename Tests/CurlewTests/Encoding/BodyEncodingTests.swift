import Curlew
import CurlewAFNetworking
import CurlewAlamofire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct BodyEncodingTests {
    private func post(_ headers: HTTPHeaders? = nil) throws -> URLRequest {
        try URLRequest(url: "https://example.com/", method: .post, headers: headers)
    }

    @Test func writesJSON() throws {
        let parameters: Parameters = ["foo": "bar", "baz": ["a", 1, true] as [any Sendable], "qux": ["a": 1]]
        let encoded = try JSONEncoding.default.encode(post(), with: parameters)
        let object = try JSONSerialization.jsonObject(with: #require(encoded.httpBody)) as? NSDictionary
        #expect(object?["foo"] as? String == "bar")
        #expect((object?["qux"] as? [String: Int]) == ["a": 1])
        #expect(encoded.headers["Content-Type"] == "application/json")
    }

    @Test func writesJSONArraysAndKeepsTheContentType() throws {
        let encoded = try JSONEncoding.default.encode(
            post(["Content-Type": "application/json;x=1"]), withJSONObject: [1])
        #expect(encoded.httpBody == Data("[1]".utf8))
        #expect(encoded.headers["Content-Type"] == "application/json;x=1")
    }

    @Test func leavesTheRequestAloneWithoutParameters() throws {
        let request = try post()
        #expect(try JSONEncoding.default.encode(request, with: nil) == request)
        #expect(try PropertyListEncoding.default.encode(request, with: nil) == request)
        #expect(try JSONParameterEncoder.default.encode(nil as String?, into: request) == request)
        #expect(try URLEncodedFormParameterEncoder.default.encode(nil as [String: String]?, into: request) == request)
    }

    @Test func refusesInvalidJSONValues() throws {
        let error = #expect(throws: CurlewError.self) {
            try JSONEncoding.default.encode(post(), with: ["data": Data([1])])
        }
        #expect(error?.code == .parameterEncodingFailed)
        #expect(error?.underlying is JSONEncoding.Error)
    }

    @Test(arguments: [PropertyListEncoding.xml, .binary])
    func writesPropertyLists(encoding: PropertyListEncoding) throws {
        let encoded = try encoding.encode(post(), with: ["foo": "bar", "data": Data([1, 2])])
        var format = PropertyListSerialization.PropertyListFormat.openStep
        let object =
            try PropertyListSerialization.propertyList(
                from: #require(encoded.httpBody),
                format: &format
            ) as? [String: Any]
        #expect(object?["foo"] as? String == "bar")
        #expect(object?["data"] as? Data == Data([1, 2]))
        #expect(format == encoding.format)
        #expect(encoded.headers["Content-Type"] == "application/x-plist")
    }

    @Test func encodersWriteBodies() throws {
        let json = try JSONParameterEncoder.sortedKeys.encode(["b": 1, "a": 2], into: post())
        #expect(json.httpBody == Data(#"{"a":2,"b":1}"#.utf8))
        #expect(json.headers["Content-Type"] == "application/json")

        let plist = try PropertyListParameterEncoder.default.encode(["a": 1], into: post())
        #expect(try PropertyListDecoder().decode([String: Int].self, from: #require(plist.httpBody)) == ["a": 1])

        let form = try URLEncodedFormParameterEncoder.default.encode(["b": 1, "a": 2], into: post())
        #expect(form.httpBody == Data("a=2&b=1".utf8))
        #expect(form.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete])
    func formEncoderWritesIntoTheURL(method: HTTPMethod) throws {
        let request = try URLRequest(url: "https://example.com/?z=1", method: method)
        let encoded = try URLEncodedFormParameterEncoder.default.encode(["a": 2], into: request)
        #expect(encoded.url?.query == "z=1&a=2")
        let empty = try URLEncodedFormParameterEncoder.default.encode([String: Int](), into: request)
        #expect(empty == request)
    }

    /// `URLComponents` traps on a query with characters that a URL cannot contain.
    @Test(arguments: [
        (CharacterSet.alphanumerics, "é b", "%C3%A9%20b"),
        (CharacterSet(charactersIn: "[]#|\" é"), "[]#|\" é&", "%5B%5D%23%7C%22%20%C3%A9%26"),
        (CharacterSet(charactersIn: "%0123456789"), "100% %41%4", "100%25%20%41%254"),
        (CharacterSet(charactersIn: "&=+?/:@!$'()*,;"), "&=+?/:@!$'()*,;", "&=+?/:@!$'()*,;"),
    ])
    func escapesForbiddenCharactersInURLs(allowed: CharacterSet, text: String, expected: String) throws {
        let encoder = URLEncodedFormParameterEncoder(encoder: URLEncodedFormEncoder(allowedCharacters: allowed))
        let get = try URLRequest(url: "https://example.com/?z=%2F#end", method: .get)
        let sent = try encoder.encode(["1": text], into: get)
        let name = allowed.contains("1") ? "1" : "%31"
        #expect(sent.url?.absoluteString == "https://example.com/?z=%2F&\(name)=\(expected)#end")
    }

    /// In a body, all allowed characters stay unescaped.
    @Test func keepsAllowedCharactersInBodies() throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: CharacterSet(charactersIn: "a[]é"))
        let sent = try URLEncodedFormParameterEncoder(encoder: encoder).encode(["a": ["é"]], into: post())
        #expect(sent.httpBody == Data("a[]=é".utf8))
    }

    @Test func staticMembersProvideTheEncoders() throws {
        let encoders: [any ParameterEncoder] = [
            .json, .json(encoder: JSONEncoder()), .urlEncodedForm, .urlEncodedForm(destination: .httpBody),
            .propertyList,
        ]
        for encoder in encoders {
            #expect(try encoder.encode(["a": 1], into: post()).httpBody?.isEmpty == false)
        }
    }

    struct Failing: Encodable {
        struct Reason: Error {}
        func encode(to encoder: any Encoder) throws { throw Reason() }
    }

    @Test func errorNamesTheFailedEncoder() throws {
        let json = #expect(throws: CurlewError.self) {
            try JSONParameterEncoder.default.encode(Failing(), into: post())
        }
        #expect(json?.isParameterEncodingError == true)
        #expect(json?.underlying is Failing.Reason)

        let form = #expect(throws: CurlewError.self) {
            try URLEncodedFormParameterEncoder.default.encode(Failing(), into: post())
        }
        #expect(form?.isParameterEncoderError == true)
        #expect(form?.isParameterEncodingError == false)
        #expect(form?.underlying is Failing.Reason)
        #expect(form?.code == .parameterEncodingFailed)
    }

    @Test func formEncoderNeedsAURL() throws {
        var request = try post()
        request.url = nil
        let error = #expect(throws: CurlewError.self) {
            try URLEncodedFormParameterEncoder.default.encode(["a": 1], into: request)
        }
        #expect(error?.reason == "Encoding failed: the request has no URL.")
    }
}
