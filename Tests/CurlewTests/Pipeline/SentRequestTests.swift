import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("What a try sends, before Foundation's type is made")
struct SentRequestTests {
    private static let url = "http://example.org/path?query=1"

    @Test(
        "is what the URLRequest would say",
        arguments: [
            (HTTPMethod.get, nil), (.post, nil), (.delete, [:]), (HTTPMethod(rawValue: "PROPFIND"), nil),
            (.get, ["X-One": "1"]), (.put, ["X-Two": "2", "accept": "*/*", "X-One": "1"]),
            (.get, ["B": "", "a": "x, y", "C": "ä"]),
        ] as [(HTTPMethod, HTTPHeaders?)]
    )
    func agreesWithFoundation(method: HTTPMethod, headers: HTTPHeaders?) throws {
        let plain = PlainRequest(url: Self.url, method: method, headers: headers, modifier: nil)
        let made = try plain.asURLRequest()
        let sent = try #require(try plain.asSentRequest())
        #expect(sent.urlRequest == made)
        #expect(sent.urlRequest.allHTTPHeaderFields ?? [:] == made.allHTTPHeaderFields ?? [:])
        #expect(sent.fields == SentRequest.made(made).fields)
        #expect(sent.method == SentRequest.made(made).method)
        #expect(sent.url == made.url)
        #expect(sent.timeoutInterval == made.timeoutInterval)
        #expect(sent.handlesCookies == made.httpShouldHandleCookies)
    }

    @Test("is left to Foundation where that changes something")
    func leavesTheRest() throws {
        var twice = HTTPHeaders(["X": "1", "Y": "2"])
        twice.append(name: "X", value: "3")
        let modifier: Session.RequestModifier = { $0.timeoutInterval = 5 }
        for plain in [
            PlainRequest(url: Self.url, method: .get, headers: nil, modifier: modifier),
            PlainRequest(url: Self.url, method: HTTPMethod(rawValue: "post"), headers: nil, modifier: nil),
            PlainRequest(url: Self.url, method: HTTPMethod(rawValue: ""), headers: nil, modifier: nil),
            PlainRequest(url: Self.url, method: .get, headers: twice, modifier: nil),
        ] {
            #expect(try plain.asSentRequest() == nil)
        }
    }

    @Test("resolves a relative URL")
    func resolves() throws {
        let relative = try #require(URL(string: "b?c", relativeTo: URL(string: "http://example.org/a/")))
        let sent = try #require(
            try PlainRequest(url: relative, method: .get, headers: nil, modifier: nil).asSentRequest())
        #expect(sent.url?.absoluteString == "http://example.org/a/b?c")
        #expect(sent.url?.baseURL == nil)
    }

    @Test("fails where the URL is none")
    func fails() {
        let plain = PlainRequest(url: "http://[broken", method: .get, headers: nil, modifier: nil)
        #expect(throws: (any Error).self) { try plain.asSentRequest() }
    }

    /// URLs are looked at closely only where a character says that this may be worth it.
    @Test(
        "has the credentials out of its URL, whatever that looks like",
        arguments: [
            "http://example.org/", "http://u:p@example.org/", "http://u@example.org", "http://:p@example.org/",
            "http://u:@example.org/", "http://@example.org/", "http://:@example.org/", "http://u:p@[::1]:80/",
            "http://u:p@127.0.0.1:8080/a:b@c", "http://example.org/u:p@v", "http://example.org?u:p@v",
            "http://example.org#u:p@v", "http://u%40v:p%3Aq@example.org/", "http://%75:%70@example.org/",
            "http://u:p@example.org:80?q", "HTTP://U:P@EXAMPLE.ORG/", "http://u:p:q@example.org/", "http:///u:p@v",
            "http:/u:p@v/", "http:u:p@v/", "//u:p@example.org/", "u:p@example.org", "http://u;x:p@example.org/",
        ]
    )
    func separatesCredentials(_ text: String) async throws {
        guard let url = URL(string: text) else { return }
        let seen = Recorded<TransferRequest>()
        let transport = MockTransport { request in
            seen.note(request.transfer)
            return .text("x")
        }
        let request = Session(transport: transport).request(url)
        _ = await request.response()
        let (user, password) = (url.user(percentEncoded: false), url.password(percentEncoded: false))
        guard let sent = seen.all.first else {
            #expect(["http", "https"].contains(url.scheme?.lowercased()) == false || url.host() ?? "" == "")
            return
        }
        let hasCredentials = user?.isEmpty == false || password != nil
        #expect((sent.options.authentication != nil) == hasCredentials)
        if hasCredentials {
            #expect(sent.options.authentication?.username == user ?? "")
            #expect(sent.options.authentication?.password == password ?? "")
            #expect(sent.url.user() == nil && sent.url.password() == nil)
        }
        #expect(sent.url.host() == url.host())
        #expect(sent.url.path(percentEncoded: true) == url.path(percentEncoded: true))
    }
}
