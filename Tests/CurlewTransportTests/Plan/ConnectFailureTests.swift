import Foundation
import Testing

@testable import CurlewTransport

@Suite("Whom a connection failed to")
struct ConnectFailureTests {
    static let cases: [(text: String, url: String, isAtProxy: Bool)] = [
        (
            "Failed to connect to example.com port 80 after 0 ms: Couldn't connect to server", "http://example.com/x",
            false
        ),
        ("Failed to connect to EXAMPLE.com port 443 after 0 ms: Couldn't connect", "https://example.com", false),
        ("Failed to connect to example.com port 8080 after 1 ms: refused", "http://example.com:8080", false),
        ("Failed to connect to ::1 port 80 after 0 ms: refused", "http://[::1]/", false),
        ("Failed to connect to 127.0.0.1 port 3128 after 0 ms: refused", "http://example.com", true),
        ("Failed to connect to example.com port 3128 after 0 ms: refused", "http://example.com", true),
        ("Couldn't connect to server", "http://example.com", false),
        ("Failed to connect to nowhere", "http://example.com", false),
        ("", "http://example.com", false),
    ]

    @Test(arguments: cases)
    func peer(text: String, url: String, isAtProxy: Bool) throws {
        #expect(ConnectFailure.isAtProxy(text, url: try #require(URL(string: url))) == isAtProxy)
    }
}
