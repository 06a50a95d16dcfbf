import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("Proxies", .realServers, .timeLimit(.minutes(4)))
struct ProxyTests {
    private func through(
        _ name: String,
        username: String? = nil,
        password: String? = nil,
        exclusions: [String] = []
    ) throws -> CurlTransport {
        try makeTrustingTransport {
            $0.proxy = .url(
                try IntegrationEnvironment.url(name),
                username: username,
                password: password,
                exclusions: exclusions
            )
        }
    }

    private func withPassword(_ kind: String) throws -> CurlTransport {
        try through(
            "\(kind)_WITH_PASSWORD",
            username: IntegrationEnvironment.text("\(kind)_USER"),
            password: IntegrationEnvironment.text("\(kind)_PASSWORD")
        )
    }

    @Test func plainRequestsGoThroughAnHTTPProxy() async throws {
        let answer = try await through("PROXY").exchange(IntegrationEnvironment.url("NGINX", "/info"))
        #expect(answer.status == 200)
        #expect(answer.seen("via")?.contains("tinyproxy") == true)
    }

    @Test func httpsRequestsTunnelThroughProxy() async throws {
        let answer = try await through("PROXY").exchange(IntegrationEnvironment.url("NGINX_TLS", "/info"))
        #expect(answer.status == 200)
        #expect(answer.seen("via") == "direct")
        #expect(answer.head.version == .http2)
        #expect(answer.record.head?.headers["Server"]?.hasPrefix("nginx") == true)
    }

    @Test func missingProxyPasswordIs407OrTunnelError() async throws {
        let transport = try through("PROXY_WITH_PASSWORD")
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/info")).status == 407)
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let error = await transport.failure(url)
        #expect(error?.code == .proxyFailed)
        #expect(error?.responseCode == 407)
    }

    @Test(arguments: ["NGINX", "NGINX_TLS"])
    func proxyPasswordIsAccepted(server: String) async throws {
        let answer = try await withPassword("PROXY").exchange(IntegrationEnvironment.url(server, "/info"))
        #expect(answer.status == 200)
    }

    @Test(arguments: ["NGINX", "NGINX_TLS"])
    func socksProxyCarriesHTTPAndHTTPS(server: String) async throws {
        #expect(try await through("SOCKS").exchange(IntegrationEnvironment.url(server, "/info")).status == 200)
        #expect(try await withPassword("SOCKS").exchange(IntegrationEnvironment.url(server, "/info")).status == 200)
    }

    @Test func refusalBySocksProxyIsProxyFailed() async throws {
        let transport = try through("SOCKS_WITH_PASSWORD")
        let url = try IntegrationEnvironment.url("NGINX", "/info")
        let error = await transport.failure(url)
        #expect(error?.code == .proxyFailed)
    }

    @Test func anExcludedHostIsReachedDirectly() async throws {
        let transport = try through("PROXY", exclusions: ["127.0.0.1"])
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/info")).seen("via") == "direct")
    }

    @Test func unreachableProxyIsProxyFailed() async throws {
        let transport = try through("CLOSED")
        let url = try IntegrationEnvironment.url("NGINX", "/info")
        let error = try #require(await transport.failure(url))
        #expect(error.code == .proxyFailed)
        #expect(error.isConnectivity)
    }
}
