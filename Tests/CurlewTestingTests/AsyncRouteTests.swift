import Curlew
import Foundation
import Testing
@testable import CurlewTesting

@Suite("TestServer: asynchronous routes", .timeLimit(.minutes(4)))
struct AsyncRouteTests {
    enum Way { case http1, http2 }

    // HTTP/2 with TLS: because of a fault of libcurl 7.88, Curlew opens a connection for each plain exchange.
    static let ways: [Way] = Capabilities.current.usesOpenSSL ? [.http1, .http2] : [.http1]

    /// Makes a server, and a session that has a connection to it.
    private func connected(_ way: Way) async throws -> (TestServer, Session) {
        var configuration = TestServer.Configuration()
        if way == .http2 { (configuration.tls, configuration.protocols) = (TestServer.TLS(), [.http2]) }
        let server = try TestServer(configuration)
        let session = Session(
            configuration: SessionConfiguration {
                $0.tls.trustRoots = server.trustRoots
                $0.proxy = .none
            })
        _ = try await session.request(server.url("/get")).data()
        server.clearRequests()
        return (server, session)
    }

    /// A route that waits until its task is cancelled, and then opens the gate.
    private func waitsForCancellation(
        _ cancelled: Gate
    ) -> @Sendable (TestServer.Request) async throws -> TestServer.Response {
        { _ in
            defer { if Task.isCancelled { cancelled.open() } }
            try await Gate().wait()
            return .text("never")
        }
    }

    /// Starts a request whose route waits until it is cancelled, and then opens the gate.
    private func startWaiting(_ server: TestServer, _ session: Session) async throws -> (Task<Data, any Error>, Gate) {
        let cancelled = Gate()
        server.route("/wait", waitsForCancellation(cancelled))
        let waiting = Task { try await session.request(server.url("/wait")).data() }
        try await server.waitForRequests(count: 1)
        return (waiting, cancelled)
    }

    @Test(arguments: ways) func `a route that waits delays no other request`(way: Way) async throws {
        let (server, session) = try await connected(way)
        let gate = Gate()
        server.route("/wait/{name}", methods: [.post]) { request in
            try await gate.wait()
            return .text("hello, \(request.parameters["name"] ?? ""): \(request.bodyText ?? "")")
        }
        async let answer = session.upload(Data("body".utf8), to: server.url("/wait/ada")).string()
        try await server.waitForRequests(count: 1)
        #expect(try await session.request(server.url("/bytes/3")).data().count == 3)
        gate.open()
        #expect(try await answer == "hello, ada: body")
        #expect(server.requests.map(\.path) == ["/wait/ada", "/bytes/3"])
        // With HTTP/2, both were streams of one connection.
        #expect(server.connectionCount == (way == .http1 ? 2 : 1))
        await session.invalidate()
    }

    @Test func `pipelined requests are answered in order`() async throws {
        let (server, gate) = (try TestServer(), Gate())
        server.route("/wait") { _ in
            try await gate.wait()
            return .text("first")
        }
        server.route("/next") { _ in .text("second") }
        let client = try WireClient(port: server.port)
        client.send("GET /wait HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n")
        try await gate.waitForArrivals(count: 1)
        #expect(server.requests.map(\.path) == ["/wait"])
        gate.open()
        #expect(try [client.response().text, client.response().text] == ["first", "second"])
    }

    @Test(arguments: ways) func `an error is a 500`(way: Way) async throws {
        struct Failure: Error {}
        let (server, session) = try await connected(way)
        server.route("/fails") { _ in
            await Task.yield()
            throw Failure()
        }
        let response = await session.request(server.url("/fails")).response()
        #expect(response.response?.statusCode == 500)
        await session.invalidate()
    }

    @Test(arguments: ways) func `the route is cancelled when its request is`(way: Way) async throws {
        let (server, session) = try await connected(way)
        let (waiting, cancelled) = try await startWaiting(server, session)
        waiting.cancel()
        await #expect(throws: CurlewError.self) { try await waiting.value }
        // With HTTP/2 on the same connection. libcurl 7.88 sends the reset of a stream with the next request.
        #expect(try await session.request(server.url("/bytes/3")).data().count == 3)
        if way == .http2 { #expect(server.connectionCount == 1) }
        try await cancelled.wait()
        await session.invalidate()
    }

    @Test func `the route is cancelled when its stream is reset`() async throws {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2]
        let (server, cancelled) = (try TestServer(configuration), Gate())
        server.route("/wait", waitsForCancellation(cancelled))
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, "GET", "/wait")
        client.request(3, "GET", "/bytes/3")
        #expect(try client.response(3).body.count == 3)
        #expect(!cancelled.isOpen)
        client.send { $0.frame(.resetStream, stream: 1, HTTP2Frame.big(8)) }
        try await cancelled.wait()
        client.request(5, "GET", "/bytes/5")
        #expect(try client.response(5).body.count == 5)
    }

    @Test(arguments: ways) func `the route is cancelled when the server stops`(way: Way) async throws {
        let (server, session) = try await connected(way)
        let (waiting, cancelled) = try await startWaiting(server, session)
        server.stop()
        try await cancelled.wait()
        await #expect(throws: CurlewError.self) { try await waiting.value }
        await session.invalidate()
    }

    @Test func `a route that ignores its cancellation holds nobody up`() async throws {
        let (server, gate, ended) = (try TestServer(), Gate(), Gate())
        server.route("/wait") { _ in
            // The value of a task is awaited through a cancellation.
            _ = await Task.detached { try? await gate.wait() }.value
            ended.open()
            return .text("late")
        }
        let client = try WireClient(port: server.port)
        client.send("GET /wait HTTP/1.1\r\n\r\n")
        try await gate.waitForArrivals(count: 1)
        client.close()
        try await server.waitForOpenConnections(atMost: 0)
        server.stop()
        #expect(!ended.isOpen)
        gate.open()
        try await ended.wait()
    }
}
