import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("TestServer: HTTP/2", .timeLimit(.minutes(4))) struct HTTP2ServerTests {
    typealias Response = TestServer.Response

    enum Way: CaseIterable { case plain, tls }

    private func server(_ way: Way, _ protocols: [TestServer.ApplicationProtocol] = [.http2, .http1]) throws
        -> TestServer
    {
        var configuration = TestServer.Configuration()
        configuration.protocols = protocols
        if way == .tls { configuration.tls = TestServer.TLS() }
        return try TestServer(configuration)
    }

    private func session(_ server: TestServer, _ version: HTTPVersionPolicy? = nil) -> Session {
        let isPlain = server.url.scheme == "http"
        return Session(
            configuration: SessionConfiguration {
                $0.tls.trustRoots = server.trustRoots
                $0.proxy = .none
                $0.httpVersion = version ?? (isPlain ? .http2PriorKnowledge : .automatic)
            })
    }

    /// Runs a test with a server and a session that speak HTTP/2.
    private func with(_ way: Way, _ test: (TestServer, Session) async throws -> Void) async throws {
        let server = try server(way)
        let session = session(server)
        try await test(server, session)
        await session.invalidate()
        try await server.waitForOpenConnections(atMost: 0)
    }

    static let ways: [Way] = Capabilities.current.usesOpenSSL ? Way.allCases : [.plain]

    // MARK: Protocol negotiation

    @Test(arguments: ways) func speaksHTTP2(way: Way) async throws {
        try await with(way) { server, session in
            let response = await session.request(server.url("/anything?a=b"), headers: ["X-Name": "value"]).response()
            #expect(response.response?.statusCode == 200)
            #expect(response.metrics?.httpVersion == .http2)
            let request = try #require(server.requests.first)
            #expect(request.version == .http2)
            #expect(request.method == "GET" && request.target == "/anything?a=b")
            #expect(request.headers["X-Name"] == "value")
            #expect(request.headers["Host"] == "127.0.0.1:\(server.port)")
            #expect(request.url == server.url("/anything?a=b").absoluteString)
            #expect(request.isSecure == (way == .tls))
        }
    }

    @Test(arguments: ways) func serverSpeaksHTTP1OnRequest(way: Way) async throws {
        let server = try server(way)
        let session = session(server, .http1_1)
        #expect(await session.request(server.url("/get")).response().metrics?.httpVersion == .http1_1)
        #expect(server.requests.map(\.version) == [.http1_1])
        await session.invalidate()
    }

    @Test(arguments: ways) func http1ServerNegotiatesOnlyHTTP1(way: Way) async throws {
        let server = try server(way, [.http1])
        let session = session(server, .automatic)
        #expect(await session.request(server.url("/get")).response().metrics?.httpVersion == .http1_1)
        await session.invalidate()
    }

    @Test(arguments: ways) func serverChoosesItsPreferredProtocol(way: Way) async throws {
        let server = try server(way, [.http1, .http2])
        let session = session(server, .automatic)
        #expect(await session.request(server.url("/get")).response().metrics?.httpVersion == .http1_1)
        await session.invalidate()
    }

    @Test(arguments: ways) func http2ServerRefusesHTTP1(way: Way) async throws {
        let server = try server(way, [.http2])
        let old = session(server, .http1_1)
        #expect(await failureCode(old.request(server.url("/get"))) != nil)
        #expect(server.requests.isEmpty)
        await old.invalidate()
        let new = session(server)
        #expect(await new.request(server.url("/get")).response().metrics?.httpVersion == .http2)
        await new.invalidate()
    }

    // MARK: Exchanges

    // Only over TLS: because of a fault of libcurl 7.88, Curlew opens a connection for each plain exchange.
    @Test(arguments: ways.filter { $0 == .tls }) func manyRequestsShareAConnection(way: Way) async throws {
        try await with(way) { server, session in
            // The first request opens the connection that the others share.
            _ = try await session.request(server.url("/get")).data()
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await session.request(server.url("/held")).string() } }
                try await server.waitForRequests(count: 51)
                gate.open()
                for try await text in group { #expect(text == "held") }
            }
            #expect(server.connectionCount == 1)
            #expect(server.requests.map(\.indexOnConnection) == Array(1...51))
        }
    }

    @Test(arguments: ways) func largeBodiesAreSentAndReceived(way: Way) async throws {
        try await with(way) { server, session in
            let body = TestServer.patternBytes(count: 3_000_000)
            let answer = try await session.upload(body, to: server.url("/post")).data()
            #expect(!answer.isEmpty)
            #expect(server.requests.first?.body == body)
            #expect(
                try await session.request(server.url("/bytes/5000000")).data()
                    == TestServer.patternBytes(count: 5_000_000))
            #expect(
                try await session.request(server.url("/stream-bytes/300000?chunk_size=1000")).data().count == 300_000)
            #expect(try await session.request(server.url("/drip?numbytes=10&duration=0.01")).data().count == 10)
            server.script("/echo", Response(body: .echo))
            #expect(try await session.upload(body, to: server.url("/echo")).data() == body)
            #expect(server.requests.last?.bodyByteCount == 3_000_000)
            if way == .tls { #expect(server.connectionCount == 1) }
        }
    }

    @Test(arguments: [
        ("/status/204", 204), ("/status/304", 304), ("/status/404", 404), ("/redirect/3", 200), ("/gzip", 200),
        ("/cookies/set/a/b", 200), ("/basic-auth/u/p", 401), ("/etag/x", 200), ("/json", 200), ("/chunked/5", 200),
        ("/trailers?x-sum=1", 200), ("/delay/0.01", 200), ("/bytes/0", 200),
    ])
    func routesRespondAsOverHTTP1(path: String, status: Int) async throws {
        let old = try TestServer()
        let oldSession = session(old, .http1_1)
        let expected = await oldSession.request(old.url(path)).response()
        await oldSession.invalidate()
        try await with(.plain) { server, session in
            let response = await session.request(server.url(path)).response()
            #expect(response.response?.statusCode == status)
            #expect(response.response?.statusCode == expected.response?.statusCode)
            #expect((response.data?.isEmpty ?? true) == (expected.data?.isEmpty ?? true))
            #expect(server.requests.count == old.requests.count)
        }
    }

    @Test(arguments: [HTTPMethod.head, .put, .patch, .delete, .options]) func methodsArriveUnchanged(method: HTTPMethod)
        async throws
    {
        try await with(.plain) { server, session in
            let response = await session.request(server.url("/anything"), method: method).response()
            #expect(response.response?.statusCode == 200)
            #expect(server.requests.first?.method == method.rawValue)
            #expect((response.data ?? Data()).isEmpty == (method == .head))
        }
    }

    @Test func closingResponseEndsTheConnection() async throws {
        try await with(.plain) { server, session in
            server.script("/", .text("one").closing(), .text("two"))
            #expect(try await session.request(server.url("/")).string() == "one")
            try await server.waitForOpenConnections(atMost: 0)
            #expect(try await session.request(server.url("/")).string() == "two")
            #expect(server.connectionCount == 2)
        }
    }

    @Test func stoppingEndsConnections() async throws {
        let server = try server(.plain)
        let session = session(server)
        server.script("/hang", .hanging)
        async let failed = failureCode(session.request(server.url("/hang")))
        try await server.waitForRequests(count: 1)
        server.stop()
        #expect(await failed != nil)
        #expect(server.openConnectionCount == 0)
        await session.invalidate()
    }

    // MARK: Faults

    static let faults: [(String, Response)] = [
        ("reset before the head", Response.text("abcdef").faulting(.reset, at: .beforeHead)),
        ("reset in the head", Response.text("abcdef").faulting(.reset, at: .inHead(after: 10))),
        ("reset in the body", Response.text("abcdef").faulting(.reset, at: .inBody(after: 3))),
        ("close before the head", Response.text("abcdef").faulting(.close, at: .beforeHead)),
        ("close in the body", Response.text("abcdef").faulting(.close, at: .inBody(after: 3))),
        ("close before reading", Response.text("abcdef").faulting(.close, at: .beforeReading)),
        ("half-close in the body", Response.text("abcdef").faulting(.halfClose, at: .inBody(after: 3))),
        ("garbage before the head", Response.text("abcdef").faulting(.garbage, at: .beforeHead)),
        ("garbage in the body", Response.text("abcdef").faulting(.garbage, at: .inBody(after: 3))),
        ("raw bytes", Response.raw(["HTTP/1.1 200 OK\r\n\r\n"]).closing()),
        ("a body that is shorter than was promised", Response(body: .generated(length: 10) { _, _ in Data() })),
        ("a length that is too long", Response.text("abcdef").header("Content-Length", "7")),
    ]

    @Test(arguments: faults, ways) func faultsFailTheirRequest(fault: (String, Response), way: Way) async throws {
        try await with(way) { server, session in
            // An earlier request, so that the fault hits a connection that has been used.
            _ = try await session.request(server.url("/get")).data()
            server.script("/fault", fault.1)
            let request = session.request(server.url("/fault"), method: .post)
            #expect(await failureCode(request) != nil, "\(fault.0)")
            #expect(try await session.request(server.url("/bytes/9")).data().count == 9)
        }
    }

    @Test func scriptsOfConnectionsAreFollowed() async throws {
        guard Capabilities.current.usesOpenSSL else { return }
        let server = try server(.tls)
        server.scriptNextConnection(.text("one"), .text("two").delayed(by: .milliseconds(1)))
        let session = session(server)
        #expect(try await session.request(server.url("/a")).string() == "one")
        #expect(try await session.request(server.url("/b")).string() == "two")
        #expect(try await session.request(server.url("/bytes/5")).data().count == 5)
        await session.invalidate()
        server.scriptNextConnection(.text("").faulting(.close, at: .beforeReading))
        let other = self.session(server)
        #expect(await failureCode(other.request(server.url("/c"), method: .post)) != nil)
        #expect(server.requests.count == 3)
        await other.invalidate()
    }

    @Test(arguments: ways) func cancellingEndsOnlyTheStream(way: Way) async throws {
        try await with(way) { server, session in
            _ = try await session.request(server.url("/get")).data()
            server.script("/slow", .bytes(100_000_000).faulting(.stall(), at: .inBody(after: 1_000_000)))
            server.script("/slow", .hanging)
            for count in 2...3 {
                let request = session.request(server.url("/slow"))
                async let code = failureCode(request)
                try await server.waitForRequests(count: count)
                request.cancel()
                #expect(await code == .cancelled)
            }
            #expect(try await session.request(server.url("/bytes/9")).data().count == 9)
            if way == .tls { #expect(server.connectionCount == 1) }
        }
    }
}
