import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// haproxy as a reverse proxy before a server, and as the TLS end point before a proxy.
@Suite("haproxy", .realServers, .timeLimit(.minutes(4)))
struct HAProxyTests {
    @Test(arguments: ["HAPROXY", "HAPROXY_TLS"])
    func requestReachesServerBehindReverseProxy(server: String) async throws {
        let transport = try makeTrustingTransport()
        let answer = try await transport.exchange(IntegrationEnvironment.url(server, "/info"))
        #expect(answer.status == 200)
        #expect(answer.seen("via") == "haproxy")
        #expect(answer.head.version == (server == "HAPROXY" ? .http1_1 : .http2))
    }

    @Test func manyStreamsShareOneConnectionToReverseProxy() async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url("HAPROXY_TLS", "/info")
        _ = try await transport.exchange(url)
        try await withThrowingTaskGroup(of: Exchange.self) { group in
            for _ in 0..<40 { group.addTask { try await transport.exchange(url) } }
            for try await exchange in group {
                #expect(exchange.status == 200)
                #expect(exchange.metrics.isConnectionReused)
            }
        }
    }

    @Test func deadBackendOfReverseProxyIs503() async throws {
        let answer = try await makeTransport().exchange(IntegrationEnvironment.url("HAPROXY_DEAD", "/"))
        #expect(answer.status == 503)
    }

    private func proxied(_ name: String) throws -> CurlTransport {
        try makeTrustingTransport { $0.proxy = .url(try IntegrationEnvironment.url(name)) }
    }

    @Test(arguments: ["NGINX", "NGINX_TLS"])
    func aProxyMayBeReachedOverTLS(server: String) async throws {
        let answer = try await proxied("HAPROXY_TLS_PROXY").exchange(IntegrationEnvironment.url(server, "/info"))
        #expect(answer.status == 200)
        #expect(answer.seen("via")?.contains("tinyproxy") == (server == "NGINX"))
    }

    @Test func certificateOfProxyIsVerified() async throws {
        let url = try IntegrationEnvironment.url("NGINX", "/info")
        let transport = try proxied("HAPROXY_UNTRUSTED_PROXY")
        let error = try #require(await transport.failure(url))
        #expect(error.code == .certificateUntrusted)
        #expect(error.isSafeToRetry)
    }
}
