import CurlewCore
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("The request of an exchange as a URLRequest")
struct WireRequestTests {
    private static func sent(
        _ method: HTTPMethod = .post,
        _ headers: HTTPHeaders = ["X-Own": "1"],
        body: BodySource = .data(Data("body".utf8)),
        url: String = "https://example.com/a?b=c"
    ) throws -> TransferRequest {
        TransferRequest(
            identifier: TaskIdentifier(rawValue: 1),
            url: try url.asURL(),
            method: method,
            headers: headers,
            defaultHeaders: DefaultHeaders(["User-Agent": "test", "Accept-Encoding": "gzip"]),
            body: body
        )
    }

    /// Returns the request after user code has changed its view of it.
    private static func changed(
        _ sent: TransferRequest,
        _ change: (inout URLRequest) -> Void
    ) throws(CurlewError) -> TransferRequest {
        let wire = WireRequest(sent)
        var answer = wire.view
        change(&answer)
        return try wire.changed(by: answer)
    }

    private static func text(_ body: BodySource) -> String? {
        if case .data(let data) = body { String(decoding: data, as: UTF8.self) } else { nil }
    }

    @Test func `user code sees the method, the URL, all fields and a body in memory`() throws {
        let view = WireRequest(try Self.sent()).view
        #expect(view.httpMethod == "POST")
        #expect(view.url?.absoluteString == "https://example.com/a?b=c")
        #expect(view.headers["X-Own"] == "1")
        #expect(view.headers["User-Agent"] == "test")
        #expect(view.httpBody == Data("body".utf8))
    }

    @Test func `another coding than identity is decoded`() throws {
        var sent = try Self.sent(.get, ["Accept-Encoding": "identity"], body: .none)
        sent.options.decodesContent = false
        let next = try Self.changed(sent) { $0.setValue("gzip", forHTTPHeaderField: "Accept-Encoding") }
        #expect(next.options.decodesContent)
        sent.headers.add(name: "Range", value: "bytes=0-1")
        let part = try Self.changed(sent) { $0.setValue("gzip", forHTTPHeaderField: "Accept-Encoding") }
        #expect(!part.options.decodesContent)
    }

    @Test func `repeated fields are seen as one and stay as they are`() throws {
        var headers: HTTPHeaders = ["Cookie": "a=1"]
        headers.append(name: "cookie", value: "b=2")
        headers.append(name: "X-List", value: "1")
        headers.append(name: "x-list", value: "2")
        let sent = try Self.sent(.get, headers, body: .none)
        let view = WireRequest(sent).view
        #expect(view.value(forHTTPHeaderField: "Cookie") == "a=1; b=2")
        #expect(view.value(forHTTPHeaderField: "X-List") == "1, 2")
        let next = try Self.changed(sent) { $0.setValue("new", forHTTPHeaderField: "X-New") }
        #expect(next.headers.values(for: "Cookie") == ["a=1", "b=2"])
        #expect(next.headers.values(for: "X-List") == ["1", "2"])
        #expect(next.headers["X-New"] == "new")
    }

    @Test func `an unchanged answer sends the same request`() throws {
        let sent = try Self.sent(.get, ["x-lower": "1"], body: .none)
        let rebuilt = try Self.changed(sent) { answer in
            // Foundation changes the case of the name.
            answer.setValue("1", forHTTPHeaderField: "X-LOWER")
        }
        #expect(rebuilt.headers == sent.headers)
        #expect(rebuilt.defaultHeaders === sent.defaultHeaders)
        #expect(rebuilt.url == sent.url)
    }

    @Test func `fields of the request and of the session can be replaced and removed`() throws {
        let next = try Self.changed(try Self.sent()) { answer in
            answer.setValue("2", forHTTPHeaderField: "X-Own")
            answer.setValue("mine", forHTTPHeaderField: "User-Agent")
            answer.setValue(nil, forHTTPHeaderField: "Accept-Encoding")
        }
        #expect(next.effectiveHeaders["X-Own"] == "2")
        #expect(next.effectiveHeaders.values(for: "User-Agent") == ["mine"])
        #expect(!next.effectiveHeaders.contains(name: "Accept-Encoding"))
    }

    @Test func `a body that must not be coded is not decoded`() throws {
        #expect(try Self.sent().options.decodesContent)
        let next = try Self.changed(try Self.sent()) {
            $0.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        #expect(!next.options.decodesContent)
    }

    @Test func `the method, the path and the query can be replaced`() throws {
        let next = try Self.changed(try Self.sent()) { answer in
            answer.httpMethod = "PUT"
            answer.url = URL(string: "https://EXAMPLE.com:443/x/../d?signature=1")
        }
        #expect(next.method == .put)
        #expect(next.url.path() == "/d")
        #expect(next.url.query() == "signature=1")
    }

    @Test func `path segments can be kept`() throws {
        let wire = WireRequest(try Self.sent(), keepsDotSegments: true)
        var answer = wire.view
        answer.url = URL(string: "https://example.com/x/../d")
        #expect(try wire.changed(by: answer).url.path() == "/x/../d")
    }

    @Test(
        "user code can replace or remove a body in memory, and its Content-Length is dropped",
        arguments: [(Data("new".utf8) as Data?, "new" as String?), (Data(), nil), (nil, nil)])
    func bodies(_ new: Data?, _ text: String?) throws {
        let sent = try Self.sent(.post, ["Content-Length": "4"])
        let next = try Self.changed(sent) { $0.httpBody = new }
        #expect(Self.text(next.body) == text)
        #expect(next.hasBody == (text != nil))
        #expect(!next.headers.contains(name: "Content-Length"))
    }

    @Test func `a body from a file is kept unless it is replaced`() throws {
        let file = BodySource.file(URL(filePath: "/tmp/body"))
        let sent = try Self.sent(body: file)
        #expect(WireRequest(sent).hasStreamedBody)
        #expect(WireRequest(sent).view.httpBody == nil)
        let kept = try Self.changed(sent) { $0.setValue("2", forHTTPHeaderField: "X-Own") }
        if case .file = kept.body {} else { Issue.record("the body was lost") }
        #expect(Self.text(try Self.changed(sent) { $0.httpBody = Data("new".utf8) }.body) == "new")
        #expect(try !Self.changed(sent) { $0.httpBody = Data() }.hasBody)
    }

    @Test func `a GET with a body that was sent before may be adapted`() throws {
        let sent = try Self.sent(.get)
        let next = try Self.changed(sent) { $0.setValue("2", forHTTPHeaderField: "X-Own") }
        #expect(Self.text(next.body) == "body")
    }

    private struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: CurlewError.Code
        let change: @Sendable (inout URLRequest) -> Void

        init(_ name: String, _ code: CurlewError.Code, _ change: @escaping @Sendable (inout URLRequest) -> Void) {
            (testDescription, self.code, self.change) = (name, code, change)
        }
    }

    private static let refusals = [
        Refusal("another host", .unsupported) { $0.url = URL(string: "https://example.org/a") },
        Refusal("another scheme", .unsupported) { $0.url = URL(string: "http://example.com/a") },
        Refusal("another port", .unsupported) { $0.url = URL(string: "https://example.com:8443/a") },
        Refusal("credentials in the URL", .unsupported) { $0.url = URL(string: "https://u:s3cret@example.com/a") },
        Refusal("a relative URL", .unsupported) { $0.url = URL(string: "/a") },
        Refusal("no URL", .invalidURL) { $0.url = nil },
        Refusal("a timeout", .unsupported) { $0.timeoutInterval = 1 },
        Refusal("a cache policy", .unsupported) { $0.cachePolicy = .reloadIgnoringLocalCacheData },
        Refusal("cookies", .unsupported) { $0.httpShouldHandleCookies = false },
        Refusal("a body stream", .unsupported) { $0.httpBodyStream = InputStream(data: Data("s3cret".utf8)) },
        Refusal("a method that is no token", .requestCreationFailed) { $0.httpMethod = "PO ST" },
        Refusal("a body of a GET", .invalidBody) { $0.httpMethod = "GET" },
    ]

    @Test("unsupported changes of a request are refused without showing their secrets", arguments: refusals)
    private func refused(_ refusal: Refusal) throws {
        let error = #expect(throws: CurlewError.self) { _ = try Self.changed(try Self.sent(), refusal.change) }
        #expect(error?.code == refusal.code)
        if let error { #expect(!"\(error)".contains("s3cret")) }
    }
}
