import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// A command line in Alamofire's spelling.
@Suite(.timeLimit(.minutes(4)))
struct CURLStyleTests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration { $0.headers = [.accept("*/*")] }
        change(&configuration)
        return Session(configuration: configuration, transport: MockTransport { _ in .text("x") })
    }

    @Test func everythingIsShown() async {
        let jar = CookieJar()
        jar.set(Cookie(name: "foo", value: "bar", domain: "example.org", path: "/", isHostOnly: true, created: Date()))
        let request = session { $0.cookies = jar }
            .request(
                "https://example.org/path?token=abc", method: .post, parameters: ["say": "\"hi\""], encoder: .json,
                headers: [HTTPHeader(name: "X-Mark", value: "a\"b"), .authorization(bearerToken: "secret")]
            )
            .authenticate(username: "ada", password: "pass")
        _ = await request.response()
        #expect(
            request.cURLDescription(style: .alamofire)
                == [
                    "$ curl -v", "-X POST", "-u ada:pass", "-b \"foo=bar\"", "-H \"Accept: */*\"",
                    "-H \"Authorization: Bearer secret\"", "-H \"Content-Type: application/json\"",
                    "-H \"X-Mark: a\\\"b\"", #"-d "{\"say\":\"\\\"hi\\\"\"}""#,
                    "\"https://example.org/path?token=abc\"",
                ].joined(separator: " \\\n\t"))
    }

    @Test func whatIsNoRequestCannotBeWritten() async {
        let request = session().request("")
        #expect(request.cURLDescription(style: .alamofire) == "$ curl command could not be created")
    }

    @Test(arguments: [false, true]) func theHandlerIsCalledOnce(late: Bool) async throws {
        let seen = Lock<[String]>([])
        let queue = DispatchQueue(label: "curl")
        let request = session().request("https://example.org/")
        if late { _ = await request.response() }
        request.cURLDescription(style: .alamofire, on: queue) { text in seen.withLock { $0.append(text) } }
        if !late { _ = await request.response() }
        try await eventually { queue.sync { !seen.withLock { $0 }.isEmpty } }
        #expect(seen.withLock { $0 }.map { $0.hasPrefix("$ curl -v \\\n\t-X GET") } == [true])
    }
}
