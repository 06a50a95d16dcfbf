import Curlew
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@Suite("A session's base URL", .timeLimit(.minutes(4)))
struct BaseURLTests {
    private func session(_ base: String) -> Session {
        Session(
            configuration: SessionConfiguration { $0.baseURL = URL(string: base) },
            transport: MockTransport { .text($0.url.absoluteString) }
        )
    }

    private static let resolutions = [
        ("https://e.com/v1", "users", "https://e.com/v1/users"),
        ("https://e.com/v1/", "users", "https://e.com/v1/users"),
        ("https://e.com", "users", "https://e.com/users"),
        ("https://e.com/v1", "/users", "https://e.com/users"),
        ("https://e.com/v1/", "../users", "https://e.com/users"),
        ("https://e.com/v1", "users?page=2&q=a%26b%20c", "https://e.com/v1/users?page=2&q=a%26b%20c"),
        ("https://e.com/v1", "?page=2", "https://e.com/v1/?page=2"),
        ("https://e.com/v1", ".", "https://e.com/v1/"),
        ("https://e.com/v1", "./users:search", "https://e.com/v1/users:search"),
        ("https://e.com/v1", "//other.org/x", "https://other.org/x"),
        ("https://e.com/v1?key=1", "users", "https://e.com/v1/users"),
        ("https://e.com/v1?key=1#part", "#z", "https://e.com/v1/#z"),
        ("https://e.com/v1", "///x", "https:///x"),
        ("https://e.com/a%2Fb", "c%2Fd", "https://e.com/a%2Fb/c%2Fd"),
        ("https://e.com:8443/v1", "users", "https://e.com:8443/v1/users"),
        ("https://e.com/v1", "http://other.org/x?y=%20", "http://other.org/x?y=%20"),
    ]

    @Test("relative strings are resolved against the base URL, and absolute ones are not", arguments: resolutions)
    func strings(base: String, path: String, result: String) async throws {
        let session = session(base)
        #expect(try await session.request(path).string() == result)
        // With an adapter the session builds the description that monitors and adapters see.
        let adapted = session.request(path).adapt(using: Adapter { request, _ in request })
        #expect(try await adapted.string() == result)
        #expect(adapted.request?.url?.absoluteString == result)
    }

    @Test(
        "relative URLs are resolved against the base URL, and a URL with its own absolute base is not",
        arguments: resolutions)
    func urls(base: String, path: String, result: String) async throws {
        let session = session(base)
        let url = try #require(URL(string: path))
        #expect(try await session.request(url).string() == result)
        #expect(try await session.request(URLRequest(url: url)).string() == result)
        let own = try #require(URL(string: "x", relativeTo: URL(string: "https://own.org/a/")))
        #expect(try await session.request(own).string() == "https://own.org/a/x")
    }

    @Test("a URL with a relative base is resolved against the base URL together with that base")
    func relativeBase() async throws {
        let session = session("https://e.com/v1")
        let url = try #require(URL(string: "users", relativeTo: URL(string: "admin/")))
        #expect(try await session.request(url).string() == "https://e.com/v1/admin/users")
        #expect(try await session.request(URLRequest(url: url)).string() == "https://e.com/v1/admin/users")
    }

    @Test("the base URL applies to parameters, uploads, multipart forms, downloads and streams")
    func everyKind() async throws {
        let session = session("https://e.com/v1")
        #expect(try await session.request("u", parameters: ["a": 1]).string() == "https://e.com/v1/u?a=1")
        #expect(try await session.upload(Data("x".utf8), to: "u").string() == "https://e.com/v1/u")
        let form = session.upload(multipartFormData: { $0.append(Data("x".utf8), withName: "n") }, to: "u")
        #expect(try await form.string() == "https://e.com/v1/u")
        #expect(try await session.download("u").string() == "https://e.com/v1/u")
        var text = ""
        for try await line in session.streamRequest("u").lines { text += line }
        #expect(text == "https://e.com/v1/u")
    }

    @Test("a WebSocket accepts a base URL with the scheme http or ws", arguments: ["http", "ws"])
    func webSockets(scheme: String) async throws {
        let server = try TestServer()
        server.webSocket("/v1/echo", .echo)
        var base = try #require(URLComponents(url: server.url("/v1"), resolvingAgainstBaseURL: false))
        base.scheme = scheme
        let session = Session(configuration: SessionConfiguration { [url = base.url] in $0.baseURL = url })
        let socket = session.webSocket("echo")
        #expect(try await socket.opened().status == 101)
        try await socket.close()
    }

    @Test("a base URL with a WebSocket's scheme fails requests of other kinds", arguments: ["ws", "wss"])
    func otherKinds(scheme: String) async {
        let session = Session(configuration: SessionConfiguration { $0.baseURL = URL(string: "\(scheme)://e.com/v1") })
        #expect(await session.request("users").response().error?.code == .invalidURL)
        #expect(await session.download("users").response().error?.code == .invalidURL)
    }

    @Test("credentials in the base URL are sent to its host only, and not in the URLs of requests")
    func credentials() async throws {
        let transport = MockTransport {
            .text("\($0.url.absoluteString) \($0.transfer.options.authentication?.username ?? "-")")
        }
        let configuration = SessionConfiguration { $0.baseURL = URL(string: "https://ada:secret@e.com/v1") }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.request("users").string() == "https://e.com/v1/users ada")
        #expect(try await session.request("//other.org/x").string() == "https://other.org/x -")
        #expect(try await session.request("https://other.org/x").string() == "https://other.org/x -")
    }

    @Test("redirects are resolved against the requested URL, not against the base URL")
    func redirects() async throws {
        let transport = MockTransport {
            $0.url.path == "/v1/a/b" ? .redirect(to: "c?x=1") : .text($0.url.absoluteString)
        }
        let configuration = SessionConfiguration { $0.baseURL = URL(string: "https://e.com/v1") }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.request("a/b").string() == "https://e.com/v1/a/c?x=1")
    }

    @Test("a relative URL that an adapter sets is an error in spite of the base URL")
    func adapters() async {
        let session = Session(configuration: SessionConfiguration { $0.baseURL = URL(string: "https://e.com/v1") })
        let adapter = Adapter { request, _ in
            var request = request
            request.url = URL(string: "users")
            return request
        }
        #expect(await session.request("other", interceptor: adapter).response().error?.code == .invalidURL)
    }

    @Test("retries use the base URL")
    func retries() async {
        let transport = MockTransport { _ in .status(503) }
        let configuration = SessionConfiguration { $0.baseURL = URL(string: "https://e.com/v1") }
        let session = Session(configuration: configuration, transport: transport)
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        _ = await session.request("users", interceptor: policy).response()
        let urls = transport.requests.map(\.url.absoluteString)
        #expect(urls == ["https://e.com/v1/users", "https://e.com/v1/users"])
    }

    @Test(
        "a base URL without a host or with another scheme fails requests with relative URLs",
        arguments: ["/v1", "e.com/v1", "https:///v1", "file://host/v1", "unix://host/v1"])
    func unusable(base: String) async throws {
        let session = session(base)
        let error = await #expect(throws: CurlewError.self) { _ = try await session.request("users").data() }
        #expect(error?.code == .invalidURL && error?.phase == .creation)
        let adapted = session.request("users").adapt(using: Adapter { request, _ in request })
        #expect(await adapted.response().error?.code == .invalidURL)
        #expect(try await session.request("https://e.com/x").string() == "https://e.com/x")
    }

    @Test("the base URL is nil by default, and a relative URL is then an error")
    func absent() async {
        let session = Session()
        #expect(session.configuration.baseURL == nil)
        #expect(await session.request("users").response().error?.code == .invalidURL)
    }
}
