import Curlew
import CurlewHTTPTypes
import CurlewTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

struct HTTPTypesTests {
    @Test func fieldsAreTheSameBothWays() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .setCookie, value: "a=1"))
        fields.append(HTTPField(name: .accept, value: "text/plain"))
        fields.append(HTTPField(name: .setCookie, value: "b=2"))
        let headers = HTTPHeaders(fields)
        #expect(headers.values(for: "set-cookie") == ["a=1", "b=2"])
        #expect(HTTPFields(headers).map(\.value) == ["a=1", "text/plain", "b=2"])
    }

    @Test func manyFieldsAreCut() {
        var headers = HTTPHeaders()
        for number in 0..<70_000 { headers.append(name: "x", value: "\(number)") }
        #expect(HTTPFields(headers).count == 60_000)
    }

    @Test func namesThatAreNoTokensAreLeftOut() {
        #expect(HTTPFields(["a b": "1", "c": "2"]).map(\.name.rawName) == ["c"])
    }

    @Test(arguments: [(200, "OK"), (404, ""), (999, "Own")])
    func aResponseIsTheSameBothWays(status: Int, reason: String) {
        let head = ResponseHead(status: status, reason: reason, headers: ["x-one": "1"])
        let response = HTTPResponse(head)
        #expect(response.status.code == status)
        #expect(ResponseHead(response) == head)
    }

    @Test func aStatusOutOfRangeIsNone() { #expect(HTTPResponse(ResponseHead(status: 1000)).status.code == 0) }

    @Test(arguments: [
        "https://example.com/a%20b?c=%2F", "http://example.com:8080/", "http://[::1]:8080/path?",
        "https://example.com/%C3%A9",
    ])
    func aURLRequestIsTheSameBothWays(text: String) throws {
        var original = URLRequest(url: try #require(URL(string: text)))
        original.httpMethod = "PUT"
        original.setValue("1", forHTTPHeaderField: "x-one")
        let request = try #require(HTTPRequest(original))
        let back = try request.asURLRequest()
        #expect(back.url?.absoluteString == text)
        #expect(back.httpMethod == "PUT")
        #expect(back.value(forHTTPHeaderField: "x-one") == "1")
    }

    @Test func repeatedFieldsOfARequestBecomeOne() throws {
        var request = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
        request.headerFields[values: .cookie] = ["a=1", "b=2"]
        request.headerFields[values: .accept] = ["text/plain", "text/html"]
        let made = try request.asURLRequest()
        #expect(made.value(forHTTPHeaderField: "Cookie") == "a=1; b=2")
        #expect(made.value(forHTTPHeaderField: "Accept") == "text/plain, text/html")
    }

    @Test func partsThatMakeNoURLAreATypedError() async {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "exa mple", path: "/[")
        await expectError(.invalidURL) { try await Session().request(request).data() }
    }

    @Test(
        arguments: [
            // A path that would extend the host.
            ("https", "good.example", "@evil.example/x"), ("https", "good.example", ".evil.example/x"),
            ("https", "good.example", ":8443/x"), ("https", "good.example", "?x"), ("https", "good.example", "*"),
            ("https", "good.example", "\\@evil.example/x"), (nil, "good.example", "@evil.example/x"),
            // A path that would supply a missing authority.
            (nil, nil, "//evil.example/x"), (nil, nil, "//\u{301}evil.example/x"), (nil, nil, "https://evil.example/x"),
            (nil, nil, "@evil.example/x"), (nil, nil, "x"), (nil, nil, "\\\\evil.example/x"), (nil, nil, "*"),
            ("https", nil, "/x"), ("https", "", "/x"), ("https", nil, "//evil.example/x"),
            ("https", "", "/evil.example/x"),
            // An authority with more than a host and a port.
            ("https", "user@good.example", "/x"), ("https", "good.example@evil.example", "/x"),
            ("https", "evil.example/good.example", "/x"), ("https", "evil.example?good.example", "/x"),
            ("https", "good.example", "/a#b?admin=0"), ("https", "evil.example#good.example", "/x"),
            ("https", "evil.example\\good.example", "/x"),
            // A scheme with more than a scheme's name.
            ("https://evil.example/?", "good.example", "/x"), ("", "good.example", "/x"),
            ("https:", "good.example", "/x"),
        ] as [(String?, String?, String)])
    func partsThatWouldChangeTheHostAreRefused(scheme: String?, authority: String?, path: String) async throws {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        await expectError(.invalidURL) { try request.asURLRequest() }
        let session = Session(
            configuration: SessionConfiguration { $0.baseURL = URL(string: "http://127.0.0.1:1/v1/") })
        await expectError(.invalidURL) { try await session.request(request).data() }
    }

    @Test(
        arguments: [
            ("http", "good.example", nil, "http://good.example/"),
            ("http", "good.example:81", "", "http://good.example:81/"),
            (nil, "[::1]:81", "/x?y", "https://[::1]:81/x?y"),
            ("http", "good.example", "//evil.example/@", "http://good.example//evil.example/@"),
            (nil, nil, nil, "/"), (nil, nil, "", "/"), (nil, nil, "/x@y:1//z", "/x@y:1//z"),
        ] as [(String?, String?, String?, String)])
    func otherPartsMakeTheirURL(scheme: String?, authority: String?, path: String?, url: String) throws {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        #expect(try request.asURLRequest().url?.absoluteString == url)
    }

    @Test(arguments: ["/.//evil.example/x", "/\\evil.example/x", "/\t/evil.example/x"])
    func aRelativeRequestStaysOnTheHostOfTheBase(path: String) async throws {
        let server = try await TestServer.start()
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })
        let request = session.request(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path))
        _ = await request.response()
        #expect(server.requests.count == 1)
    }

    @Test func aSessionSendsRequests() async throws {
        let server = try await TestServer.start()
        server.route("/echo-two", methods: [.post]) { request in
            .data(request.body, status: 418).header("x-two", request.headers["x-one"] ?? "")
        }
        let session = Session()
        let request = HTTPRequest(
            method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/echo-two?a=1",
            headerFields: [try #require(HTTPField.Name("x-one")): "1"])
        let (data, response) = try await session.upload(for: request, from: Data("hello".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        #expect(response.status.code == 418)
        #expect(response.headerFields[try #require(HTTPField.Name("x-two"))] == "1")
        #expect(server.requests.first?.target == "/echo-two?a=1")
    }

    @Test func aRequestWithoutAnAuthorityIsRelative() async throws {
        let server = try await TestServer.start()
        let session = Session(configuration: SessionConfiguration { $0.baseURL = server.url })
        let request = session.request(HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/get?b=2"))
        _ = try await request.data()
        #expect(request.httpResponse?.status.code == 200)
        #expect(server.requests.first?.target == "/get?b=2")
    }
}

/// Expects a `CurlewError` with the code.
private func expectError<T>(
    _ code: CurlewError.Code, sourceLocation: SourceLocation = #_sourceLocation, from body: () async throws -> T
) async {
    let error = await #expect(throws: CurlewError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}
