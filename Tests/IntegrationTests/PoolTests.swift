import Curlew
import CurlewCore
import Foundation
import Testing

@Suite("Connection pool at real servers", .realServers, .timeLimit(.minutes(4)))
struct PoolTests {
    @Test("caddy's HTTP/2 streams share a connection, which is idle after their cancellation")
    func streamsShareAConnection() async throws {
        let session = try makeTrustingSession { $0.alternativeServices = nil }
        let (small, kept) = (
            try IntegrationEnvironment.url("CADDY", "/small"), try IntegrationEnvironment.url("CADDY", "/kept")
        )
        _ = try await session.request(small).data()
        let before = try await session.pool(of: small) { $0.inUse == 0 }
        #expect(before.open == 1 && before.idle == 1 && before.version == .http2)

        let requests = (0..<20).map { _ in session.request(kept) }
        let tasks = requests.map { request in Task { await request.response().error } }
        while await session.activeRequests.count < requests.count { try await Task.sleep(for: .milliseconds(2)) }
        let during = try await session.pool(of: small) { $0.inUse == 1 && $0.waiting == 0 }
        #expect(during.open == 1 && during.inUse == 1 && during.idle == 0 && during.opening == 0)
        #expect(await session.connections.origins.count == 1)
        #expect(try #require(before.oldestAge) < #require(during.oldestAge))

        await session.cancelAllRequests()
        for task in tasks { #expect(await task.value?.code == .cancelled) }
        let after = try await session.pool(of: small) { $0.inUse == 0 }
        #expect(after.open == 1 && after.idle == 1)
        let request = session.request(small)
        _ = try await request.data()
        #expect(request.metrics?.isConnectionReused == true)
    }

    /// nginx is asked for HTTP/1.1, so that several connections are opened.
    @Test(
        "requests use the connections that were opened in advance",
        .enabled(if: Capabilities.current.isAtLeast(7, 80, 0), "libcurl does not ask before it sends"),
        arguments: [("NGINX_TLS", HTTPVersion.http1_1, 3), ("CADDY", .http2, 1)])
    func openedInAdvance(server: String, version: HTTPVersion, opened: Int) async throws {
        let session = try makeTrustingSession {
            $0.alternativeServices = nil
            if version == .http1_1 { $0.httpVersion = .http1_1 }
        }
        let url = try IntegrationEnvironment.url(server, "/small")
        try await session.prewarm(url, connections: 3)
        let before = try await session.pool(of: url) { $0.idle == opened }
        #expect(before.open == opened && before.idle == opened && before.version == version)
        let requests = (0..<3).map { _ in session.request(url) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for request in requests { group.addTask { _ = try await request.data() } }
            try await group.waitForAll()
        }
        for request in requests {
            #expect(request.head?.status == 200 && request.head?.version == version)
            #expect(request.metrics?.isConnectionReused == true)
        }
        #expect(try await session.pool(of: url).open == opened)
    }
}

extension Session {
    /// Returns the first pool that meets the condition, or the last one if none does in time.
    fileprivate nonisolated func pool(
        of url: URL, until isTrue: (ConnectionSnapshot.Pool) -> Bool = { _ in true }
    ) async throws -> ConnectionSnapshot.Pool {
        let origin = try #require(ConnectionSnapshot.Origin(url))
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let pool = await connections.origins[origin] ?? .init()
            if isTrue(pool) || ContinuousClock.now > end { return pool }
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
