import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Connections of a session", .timeLimit(.minutes(4)))
struct SessionConnectionsTests {
    private static let canPrewarm = ConditionalFeature.prewarming.isPossible(.current)

    private func session(
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                change(&$0)
            })
    }

    @Test(.enabled(if: canPrewarm), arguments: [false, true])
    func `a request uses a connection that was opened in advance, with and without a cache`(
        _ hasCache: Bool
    ) async throws {
        let server = try TestServer()
        defer { server.stop() }
        let session = session { if hasCache { $0.cache = ResponseCache() } }
        #expect(await session.connections == ConnectionSnapshot())
        try await session.prewarm(server.url("/get"), connections: 2)
        #expect(server.requestCount == 0)
        #expect(await session.connections.totals.idle == 2)
        let response = await session.request(server.url("/get")).response()
        #expect(response.metrics?.isConnectionReused == true)
        #expect(server.connectionCount == 2)
        await session.invalidate()
        #expect(await session.connections == ConnectionSnapshot())
    }

    @Test(.enabled(if: canPrewarm))
    func `relative URLs are resolved`() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let session = session { $0.baseURL = server.url }
        try await session.prewarm("users")
        #expect(await session.connections.totals.open == 1)
    }

    @Test(.enabled(if: canPrewarm))
    func `HSTS leads to https`() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let store = HSTSStore()
        let secured = try #require(URL(string: "https://localhost/"))
        store.receive(HTTPHeaders(["Strict-Transport-Security": "max-age=1000"]), from: secured)
        let session = session { $0.hsts = store }
        // The server speaks no TLS, so this fails.
        let error = await #expect(throws: CurlewError.self) {
            try await session.prewarm("http://localhost:\(server.port)/")
        }
        #expect(error?.url?.scheme == "https")
    }

    @Test func `what is no URL is a typed error`() async throws {
        let session = session()
        for text in ["", "no url", "ftp://example.com/", "https://"] {
            let error = await #expect(throws: CurlewError.self) { try await session.prewarm(text) }
            #expect(error?.code == .invalidURL, "\(text)")
        }
    }

    @Test func `a session that takes no requests opens nothing`() async throws {
        let (drained, ended) = (session(), session())
        await drained.drain()
        await ended.invalidate()
        for session in [drained, ended] {
            let error = await #expect(throws: CurlewError.self) { try await session.prewarm("http://127.0.0.1:1/") }
            #expect(error?.code == .sessionClosed)
        }
    }

    private struct OtherTransport: Transport {
        func perform(
            _ request: TransferRequest, sink: any TransferSink
        ) async throws(CurlewError) -> TransferOutcome {
            throw .init(.connectFailed, phase: .connect, reason: "no network")
        }
    }

    @Test func `another transport has no connections to show or to open`() async throws {
        let session = Session(transport: OtherTransport())
        #expect(await session.connections == ConnectionSnapshot())
        let error = await #expect(throws: CurlewError.self) { try await session.prewarm("http://127.0.0.1:1/") }
        #expect(error?.code == .unsupported)
    }

    @Test func `a mock accepts both`() async throws {
        let session = Session(transport: MockTransport())
        try await session.prewarm("https://example.com", connections: 3)
        #expect(await session.connections == ConnectionSnapshot())
    }

    @Test func `the settings reach the transport`() {
        let configuration = SessionConfiguration {
            $0.maximumConnectionAge = .seconds(5)
            $0.maximumRequestsPerConnection = 7
            $0.http2PingInterval = .seconds(9)
            $0.keepAlive?.unacknowledgedTimeout = .seconds(11)
        }
        #expect(configuration.transport.maximumConnectionAge == .seconds(5))
        #expect(configuration.transport.maximumRequestsPerConnection == 7)
        #expect(configuration.transport.http2PingInterval == .seconds(9))
        #expect(configuration.transport.keepAlive?.unacknowledgedTimeout == .seconds(11))
        let defaults = SessionConfiguration()
        #expect(defaults.keepAlive == KeepAlive(idle: .seconds(60), interval: .seconds(30), probes: 3))
        #expect(defaults.maximumConnectionAge == nil && defaults.maximumRequestsPerConnection == nil)
        #expect(defaults.http2PingInterval == nil)
    }
}
