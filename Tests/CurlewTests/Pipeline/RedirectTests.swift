import Curlew
import CurlewAFNetworking
import CurlewAlamofire
import CurlewTesting
import Dispatch
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
    func statusDecidesMethodAndBodyOfRedirect(_ test: Case) async throws {
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

    /// Users run the command or give it to operators of the other origin, so it must not have credentials for the first
    /// one.
    @Test(arguments: [303, 307]) func cURLDescriptionShowsTheLastRequest(status: Int) async throws {
        let transport = MockTransport {
            $0.url.host() == "a.example" ? .redirect(to: "https://b.example/", status: status) : .text("ok")
        }
        let session = Session(
            configuration: SessionConfiguration {
                $0.headers["Authorization"] = "Bearer shared"
                $0.headers["X-Shared"] = "s"
                $0.runtimeHeaders = RuntimeHeaders(["X-Tenant": "north"], onlyFor: URL(string: "https://a.example")!)
            },
            transport: transport
        )
        let (commands, queue) = (Recorded<String>(), DispatchQueue(label: "commands"))
        let request = session.upload(Data("body".utf8), to: "https://a.example/")
            .authenticate(username: "ada", password: "pass")
            .cURLDescription(on: queue, includingCredentials: true) { commands.note($0) }
        _ = try await request.data()
        await queue.settled()
        let first = try #require(commands.all.first)
        for part in ["-u 'ada:pass'", "Bearer shared", "X-Shared: s", "X-Tenant: north", "-d 'body'", "a.example"] {
            #expect(first.contains(part), "\(part)")
        }
        for last in [request.cURLDescription(includingCredentials: true), request.cURLDescription(style: .alamofire)] {
            for part in ["-u ", "Bearer shared", "X-Tenant"] { #expect(!last.contains(part), "\(part)") }
            for part in ["X-Shared: s", "https://b.example/"] { #expect(last.contains(part), "\(part)") }
        }
        #expect(request.cURLDescription(includingCredentials: true).contains("-d 'body'") == (status == 307))
    }

    @Test func redirectLoopEndsWithAnError() async {
        let session = Session(transport: MockTransport { _ in .redirect(to: "/") })
        let response = await session.request("https://example.org/").response()
        #expect(response.error?.code == .tooManyRedirects)
        #expect(response.metrics?.redirects.count == 20)
    }

    @Test func redirectFromHTTPSToHTTPIsRefused() async {
        let session = Session(transport: MockTransport { _ in .redirect(to: "http://example.org/x") })
        let response = await session.request("https://example.org/").response()
        #expect(response.error?.code == .redirectRefused)
    }

    @Test func redirectToHTTPStaysOnHTTPSWithHSTS() async throws {
        let transport = MockTransport {
            guard $0.path == "/" else { return .text($0.url.scheme ?? "") }
            return .redirect(to: "http://example.org/x").header("Strict-Transport-Security", "max-age=60")
        }
        #expect(try await Session(transport: transport).request("https://example.org/").string() == "https")
        // Another session does not know that the host requires https.
        let other = Session(transport: MockTransport { _ in .redirect(to: "http://example.org/x") })
        #expect(await other.request("https://example.org/").response().error?.code == .redirectRefused)
    }

    @Test func handlerMayStopTheRedirect() async throws {
        let transport = MockTransport { _ in .redirect(to: "/next") }
        let request = Session(transport: transport).request("https://example.org/").redirect(
            using: Redirector.doNotFollow)
        let response = await request.response()
        #expect(response.head?.status == 302)
        #expect(response.response?.url?.absoluteString == "https://example.org/")
        #expect(response.error == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func handlerMayModifyTheRedirect() async throws {
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

    enum Change: CaseIterable { case removal, addition, body, stream, method }

    @Test("a handler's change of a single part of the request is sent", arguments: Change.allCases)
    func aHandlersOnlyChangeIsSent(_ change: Change) async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next", status: 307) : .text("ok") }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                switch change {
                case .removal: request.setValue(nil, forHTTPHeaderField: "X-Own")
                case .addition: request.setValue("1", forHTTPHeaderField: "X-Added")
                case .body: request.httpBody = Data("other".utf8)
                case .stream:
                    request.httpBody = nil
                    request.httpBodyStream = InputStream(data: Data("streamed".utf8))
                case .method: request.httpMethod = "PUT"
                }
                return request
            }
        )
        var request = try URLRequest(url: "https://example.org/", method: .post, headers: ["X-Own": "1"])
        request.httpBody = Data("first".utf8)
        _ = try await Session(transport: transport, redirectHandler: handler).request(request).data()
        let last = try #require(transport.requests.last)
        #expect((last.headers["X-Own"] == nil) == (change == .removal))
        #expect((last.headers["X-Added"] == nil) == (change != .addition))
        #expect(last.bodyText == (change == .body ? "other" : change == .stream ? "streamed" : "first"))
        #expect(last.method == (change == .method ? .put : .post))
    }

    @Test func redirectHandlerThatChangesFieldsKeepsBody() async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next", status: 307) : .text("ok") }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.setValue("1", forHTTPHeaderField: "X-Hop")
                return request
            }
        )
        _ = try await Session(transport: transport, redirectHandler: handler)
            .upload(Data("body".utf8), to: "https://example.org/").data()
        #expect(transport.requests.last?.headers["X-Hop"] == "1")
        #expect(transport.requests.last?.bodyText == "body")
    }

    /// Fields of the session and of the request, fields that are known to be secret, and fields for one origin only.
    @Test(arguments: [[], ["X-Api-Key", "Private-Token"]])
    func secretFieldsStayWithTheirOrigin(_ forwarded: [String]) async throws {
        let transport = MockTransport {
            $0.url.host() == "a.example" ? .redirect(to: "https://b.example/") : .text("ok")
        }
        let session = Session(
            configuration: SessionConfiguration {
                $0.headers = ["X-Api-Key": "k", "X-Amz-Security-Token": "t", "X-Tenant": "north"]
                $0.redirects.forwardedHeaders = forwarded
                let origin = URL(string: "https://a.example/")
                $0.runtimeHeaders = RuntimeHeaders(["X-Region": "1", "X-Tenant": "south"], onlyFor: origin)
            },
            transport: transport
        )
        let fields: HTTPHeaders = [
            "X-Auth-Token": "t", "Private-Token": "p", "Ocp-Apim-Subscription-Key": "o", "Idempotency-Key": "i",
        ]
        _ = try await session.request("https://a.example/", headers: fields).data()
        let (first, last) = (try #require(transport.requests.first), try #require(transport.requests.last))
        let secret = [
            "X-Api-Key", "Private-Token", "X-Amz-Security-Token", "X-Auth-Token", "Ocp-Apim-Subscription-Key",
        ]
        for name in secret {
            #expect(first.headers[name] != nil)
            #expect((last.headers[name] != nil) == forwarded.contains(name), "\(name)")
        }
        #expect(first.headers["X-Region"] == "1" && first.headers["X-Tenant"] == "south")
        #expect(last.headers["X-Region"] == nil && last.headers["X-Tenant"] == nil)
        #expect(last.headers["Idempotency-Key"] == "i")
    }

    @Test func redirectHandlerDropsSessionSecretsForOtherOrigin() async throws {
        let transport = MockTransport { $0.url.host() == "a.example" ? .redirect(to: "/next") : .text("ok") }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.url = URL(string: "https://b.example/")
                return request
            }
        )
        let session = Session(
            configuration: SessionConfiguration { $0.headers = ["X-Api-Key": "k", "X-Other": "o"] },
            transport: transport,
            redirectHandler: handler
        )
        _ = try await session.request("https://a.example/").data()
        #expect(transport.requests.last?.headers["X-Api-Key"] == nil)
        #expect(transport.requests.last?.headers["X-Other"] == "o")
    }

    @Test(
        "a handler that leaves the origin sends only the secrets that it set itself", arguments: [false, true])
    func handlerThatLeavesOriginSendsOnlyItsOwnSecrets(staysWithin: Bool) async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next") : .text("ok") }
        let handler = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.url = URL(string: staysWithin ? "https://a.example/other" : "https://b.example/other")
                request.setValue("mine", forHTTPHeaderField: "X-Api-Key")
                request.setValue("mine", forHTTPHeaderField: "X-Otp")
                return request
            }
        )
        let session = Session(
            configuration: SessionConfiguration { $0.redirects.sensitiveHeaders = ["x-tenant"] },
            transport: transport,
            redirectHandler: handler
        )
        let fields: HTTPHeaders = [
            "Authorization": "Bearer t", "Cookie": "a=b", "X-Auth-Token": "t", "X-Tenant": "north",
            "Referer": "https://a.example/?code=1", "X-Api-Key": "k", "X-Other": "o",
        ]
        let request = session.request("https://a.example/", headers: fields)
        _ = try await request.data()
        let last = try #require(transport.requests.last)
        for name in ["Authorization", "Cookie", "X-Auth-Token", "X-Tenant", "Referer"] {
            #expect(last.headers[name] == (staysWithin ? fields[name] : nil), "\(name)")
            #expect(request.request?.value(forHTTPHeaderField: name) == last.headers[name])
        }
        #expect(last.headers["X-Other"] == "o")
        #expect(last.headers["X-Api-Key"] == "mine" && last.headers["X-Otp"] == "mine")
    }

    @Test func redirectHandlerDoesNotRestoreDroppedCredentials() async throws {
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

    @Test func endlessBodyOfRedirectIsAnError() async {
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

    private struct Waiting: Curlew.RedirectHandler {
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
