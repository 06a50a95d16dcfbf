import CurlewCore
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
}
