import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("Hosts of requests", .timeLimit(.minutes(4)))
struct RequestHostTests {
    /// Foundation accepts all of these hosts.
    @Test(arguments: [
        "http://ho%0Ast/", "http://ho%0D%0AX-Evil%201/", "http://a%00b/", "http://example.org%2Fevil/",
        "http://example.org%23.evil.example/", "http://a%20b/", "http://user%40host%40evil/", "http://a%3A80/",
    ])
    func hostsWithUnsafeEscapedCharactersAreRefused(_ text: String) async throws {
        let url = try #require(URL(string: text))
        let transport = MockTransport { _ in .text("x") }
        let response = await Session(transport: transport).request(url).response()
        #expect(response.error?.code == .invalidURL)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [
        "http://example.org/", "http://EXAMPLE.org:8080/", "http://[::1]:80/", "http://127.0.0.1/",
        "http://xn--bcher-kva.example/", "http://under_score.example/", "http://a-b.c/",
    ])
    func ordinaryHostsAreAccepted(_ text: String) async throws {
        let transport = MockTransport { _ in .text("x") }
        let string = try await Session(transport: transport).request(text).string()
        #expect(string == "x")
    }
}
