import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct RedirectTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: HTTPMethod
        let expected: HTTPMethod
        let keepsBody: Bool
        var testDescription: String { "\(status) after \(method.rawValue)" }
    }

    @Test(arguments: [
        Case(status: 301, method: .post, expected: .get, keepsBody: false),
        Case(status: 302, method: .post, expected: .get, keepsBody: false),
        Case(status: 302, method: .put, expected: .put, keepsBody: true),
        Case(status: 303, method: .put, expected: .get, keepsBody: false),
        Case(status: 307, method: .post, expected: .post, keepsBody: true),
        Case(status: 308, method: .post, expected: .post, keepsBody: true),
    ])
    func methodsAndBodies(_ test: Case) async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next", status: test.status) : .text("ok") }
        let request = Session(transport: transport).upload(
            Data("body".utf8),
            to: "https://example.org/",
            method: test.method
        )
        #expect(try await request.string() == "ok")
        let last = try #require(transport.requests.last)
        #expect(last.method == test.expected)
        #expect(last.bodyText == (test.keepsBody ? "body" : ""))
        #expect(request.metrics?.redirects.map(\.status) == [test.status])
        #expect(request.tasks.count == 2)
        #expect(Set(request.tasks).count == 2)
    }

    @Test func anotherOriginGetsNoCredentials() async throws {
        let transport = MockTransport {
            $0.url.host() == "a.example" ? .redirect(to: "https://b.example/") : .text("ok")
        }
        let session = Session(
            configuration: SessionConfiguration {
                $0.headers["Authorization"] = "Bearer shared"
                $0.redirects.sensitiveHeaders = ["X-Key"]
            },
            transport: transport
        )
        let request = session.request("https://a.example/", headers: ["Cookie": "a=b", "X-Key": "k", "X-Other": "o"])
            .authenticate(username: "u", password: "p")
        _ = try await request.data()
        let last = try #require(transport.requests.last)
        for name in ["Authorization", "Cookie", "X-Key"] { #expect(last.headers[name] == nil) }
        #expect(last.headers["X-Other"] == "o")
        #expect(last.transfer.options.authentication == nil)
        #expect(transport.requests.first?.headers["Authorization"] == "Bearer shared")
    }

    @Test func loopsEnd() async {
        let session = Session(transport: MockTransport { _ in .redirect(to: "/") })
        let response = await session.request("https://example.org/").response()
        #expect(response.error?.code == .tooManyRedirects)
        #expect(response.metrics?.redirects.count == 20)
    }

    @Test func httpsDoesNotLeadToHTTP() async {
        let session = Session(transport: MockTransport { _ in .redirect(to: "http://example.org/x") })
        let response = await session.request("https://example.org/").response()
        #expect(response.error?.code == .redirectRefused)
    }

    @Test func aHostThatWantsHTTPSIsNotLeftForHTTP() async throws {
        let transport = MockTransport {
            guard $0.path == "/" else { return .text($0.url.scheme ?? "") }
            return .redirect(to: "http://example.org/x").header("Strict-Transport-Security", "max-age=60")
        }
        #expect(try await Session(transport: transport).request("https://example.org/").string() == "https")
        // Another session has not heard of it.
        let other = Session(transport: MockTransport { _ in .redirect(to: "http://example.org/x") })
        #expect(await other.request("https://example.org/").response().error?.code == .redirectRefused)
    }

    @Test func aHandlerMayStop() async throws {
        let transport = MockTransport { _ in .redirect(to: "/next") }
        let request = Session(transport: transport).request("https://example.org/").redirect(
            using: Redirector.doNotFollow)
        let response = await request.response()
        #expect(response.head?.status == 302)
        #expect(response.response?.url?.absoluteString == "https://example.org/")
        #expect(response.error == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func aHandlerMayModify() async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next") : .text($0.path) }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.url = URL(string: "https://example.org/elsewhere")
                request.setValue("1", forHTTPHeaderField: "X-Hop")
                return request
            }
        )
        let text = try await Session(transport: transport, redirectHandler: handler)
            .request("https://example.org/").string()
        #expect(text == "/elsewhere")
        #expect(transport.requests.last?.headers["X-Hop"] == "1")
    }

    @Test func aHandlerThatModifiesDoesNotBringLeftCredentialsBack() async throws {
        let transport = MockTransport { request in
            switch (request.url.host(), request.path) {
            case ("a.example", "/"): .redirect(to: "/again")
            case ("a.example", _): .redirect(to: "https://b.example/")
            case (_, "/"): .redirect(to: "/second")
            default: .text("ok")
            }
        }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.setValue(request.url?.absoluteString, forHTTPHeaderField: "X-Hop")
                return request
            }
        )
        let request = Session(transport: transport, redirectHandler: handler).request("https://a.example/")
            .authenticate(username: "u", password: "p")
        #expect(try await request.string() == "ok")
        let sent = transport.requests.map { $0.transfer.options.authentication?.username }
        #expect(sent == ["u", "u", nil, nil])
    }

    @Test func aRedirectsBodyNeedNotEnd() async {
        let transport = MockTransport { request in
            guard request.path == "/" else { return .text("ok") }
            var response = MockResponse.redirect(to: "/next")
            response.body = (0..<64).map { _ in .bytes(Data(count: 64 * 1024)) } + [.wait(Gate())]
            return response
        }
        let session = Session(transport: transport)
        let response = await session.download("https://example.org/").response()
        #expect(response.error?.code == .limitExceeded)
    }

    @Test func cancellingAsyncHandlersEndsTheRequest() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in .redirect(to: "/next") }
        let request = Session(transport: transport).request("https://example.org/").redirect(using: Waiting(gate: gate))
        async let response = request.response()
        try await gate.waitForArrivals(count: 1)
        request.cancel()
        #expect(await response.error?.code == .cancelled)
    }

    private struct Waiting: RedirectHandler {
        let gate: Gate

        func task(
            _ task: TaskIdentifier,
            willBeRedirectedTo request: URLRequest,
            for response: HTTPURLResponse
        ) async -> URLRequest? {
            try? await gate.wait()
            return request
        }
    }
}
