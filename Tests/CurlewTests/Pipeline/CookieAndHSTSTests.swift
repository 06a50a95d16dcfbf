import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct CookieAndHSTSTests {
    @Test func cookiesAreKeptAndSentAlsoAcrossRedirects() async throws {
        let transport = MockTransport {
            guard $0.path == "/login" else { return .text($0.headers["Cookie"] ?? "none") }
            return MockResponse(status: 302, headers: ["Location": "/home", "Set-Cookie": "sid=1; Path=/"])
        }
        let jar = CookieJar()
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        #expect(try await session.request("https://example.org/login").string() == "sid=1")
        #expect(try await session.request("https://example.org/other").string() == "sid=1")
        #expect(try await session.request("https://elsewhere.example/").string() == "none")
        #expect(jar.cookies.map(\.name) == ["sid"])
    }

    @Test func cookiesOfAbandonedResponseAreStored() async throws {
        let transport = MockTransport { _ in
            MockResponse(
                status: 200, headers: ["Set-Cookie": "sid=1"], body: [.bytes(Data("a".utf8)), .wait(Gate())])
        }
        let jar = CookieJar()
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        let request = session.streamRequest("https://example.org/")
        _ = try await request.head()
        request.cancel()
        await session.drain()
        #expect(jar.cookies.map(\.name) == ["sid"])
    }

    @Test func cookiesAreNotStoredByDefault() async throws {
        let transport = MockTransport {
            MockResponse(
                status: 200,
                headers: ["Set-Cookie": "a=b"],
                body: [.bytes(Data(($0.headers["Cookie"] ?? "none").utf8))]
            )
        }
        let session = Session(transport: transport)
        _ = try await session.request("https://example.org/").data()
        #expect(try await session.request("https://example.org/").string() == "none")
    }

    @Test func explicitCookiesAreSentUnchanged() async throws {
        let transport = MockTransport { .text($0.headers["Cookie"] ?? "") }
        let jar = CookieJar()
        jar.set(Cookie(name: "a", value: "b", domain: "example.org", path: "/", created: Date()))
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        let text = try await session.request("https://example.org/", headers: ["Cookie": "mine=1"]).string()
        #expect(text == "mine=1")
    }

    @Test func hostWithHSTSPolicyIsReachedByHTTPS() async throws {
        let transport = MockTransport { _ in
            .status(204, headers: ["Strict-Transport-Security": "max-age=100; includeSubDomains"])
        }
        let session = Session(transport: transport)
        _ = await session.request("https://example.org/").response()
        _ = await session.request("http://sub.example.org/x").response()
        _ = await session.request("http://other.example/").response()
        #expect(
            transport.requests.map(\.url.absoluteString) == [
                "https://example.org/", "https://sub.example.org/x", "http://other.example/",
            ]
        )
    }
}
