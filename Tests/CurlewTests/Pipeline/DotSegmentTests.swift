import Curlew
import CurlewTesting
import Foundation
import Testing

/// A path is resolved once, before anything else reads it.
@Suite("Dot segments of a request", .timeLimit(.minutes(4)))
struct DotSegmentTests {
    private let transport = MockTransport { request in
        request.path == "/start" ? .redirect(to: "https://example.org/public/%2e%2E/secret") : .text("x")
    }

    private func paths() -> [String] { transport.requests.map { $0.url.path(percentEncoded: true) } }

    @Test func cookiesBelongToThePathThatIsSent() async throws {
        let jar = CookieJar()
        jar.set(Cookie(name: "public", value: "1", domain: "example.org", path: "/public", created: Date()))
        jar.set(Cookie(name: "secret", value: "1", domain: "example.org", path: "/secret", created: Date()))
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        for url in ["https://example.org/public/../secret", "https://example.org/start"] {
            _ = await session.request(url).response()
            #expect(transport.requests.last?.headers["Cookie"] == "secret=1", "\(url)")
        }
        #expect(paths() == ["/secret", "/start", "/secret"])
    }

    @Test func adaptersSeeThePathWithoutDotSegments() async throws {
        let allowing = Adapter { request, _ in
            guard request.url?.path(percentEncoded: true).hasPrefix("/public/") == true else {
                throw CocoaError(.featureUnsupported)
            }
            return request
        }
        for path in ["/public/../secret", "/public/%2e%2e/secret"] {
            let response = await Session(transport: transport, interceptor: Interceptor(adapters: [allowing]))
                .request("https://example.org\(path)").response()
            #expect(response.error?.code == .adaptationFailed)
        }
        let leading = Adapter { request, _ in
            var request = request
            request.url = URL(string: "https://example.org/a/../b")
            return request
        }
        let request = Session(transport: transport).request(
            "https://example.org/public/./x", interceptor: Interceptor(adapters: [allowing, leading]))
        _ = await request.response()
        #expect(paths() == ["/b"])
        #expect(request.request?.url?.path == "/b")
    }

    @Test func keptDotSegmentsAreSent() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.script("/a/../b", TestServer.Response(status: 302, headers: ["Location": "/c/../d/./e"]))
        let session = Session(
            configuration: SessionConfiguration {
                $0.keepsDotSegments = true
                $0.proxy = .none
            })
        let seen = Gate()
        let adapter = Adapter { request, _ in
            if request.url?.absoluteString.hasSuffix("/a/../b") == true { seen.open() }
            return request
        }
        let first = "http://127.0.0.1:\(server.port)/a/../b"
        let request = session.request(first, interceptor: Interceptor(adapters: [adapter]))
        _ = await request.response()
        // The location of a redirect is a reference, so it is resolved.
        #expect(server.requests.map(\.target) == ["/a/../b", "/d/e"])
        #expect(seen.isOpen)
        // The first path also stays as it is without an adapter, with a body, and in a stream.
        _ = await session.request(first).response()
        _ = await session.upload(Data("x".utf8), to: first, method: .put).response()
        for try await _ in session.streamRequest(first).acceptingAnyStatus().chunks {}
        #expect(server.requests.dropFirst(2).filter { $0.target == "/a/../b" }.count == 3)
        #expect(request.cURLDescription().contains("--path-as-is"))
        await session.invalidate()
    }
}
