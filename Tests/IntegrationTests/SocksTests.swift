import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// The versions of SOCKS, with dante as the proxy.
@Suite("SOCKS at dante", .realServers, .timeLimit(.minutes(4)))
struct SocksTests {
    private func through(_ scheme: String) throws -> CurlTransport {
        var parts = try #require(
            URLComponents(url: IntegrationEnvironment.url("DANTE"), resolvingAgainstBaseURL: false)
        )
        parts.scheme = scheme
        let proxy = try #require(parts.url)
        return try makeTrustingTransport { $0.proxy = .url(proxy) }
    }

    @Test(arguments: ["socks4", "socks5", "socks5h"], ["NGINX", "NGINX_TLS"])
    func everySocksVersionCarriesHTTPAndHTTPS(scheme: String, server: String) async throws {
        // The URL has an address, because dante refuses IPv6 and libcurl 8 resolves `localhost` to ::1.
        let port = try #require(IntegrationEnvironment.url(server).port)
        let url = try #require(URL(string: "\(server == "NGINX" ? "http" : "https")://127.0.0.1:\(port)/info"))
        let answer = try await through(scheme).exchange(url)
        #expect(answer.status == 200)
        #expect(answer.seen("via") == "direct")
    }

    @Test func socks5hProxyResolvesTheName() async throws {
        let port = try #require(IntegrationEnvironment.url("NGINX").port)
        let url = try #require(URL(string: "http://localhost:\(port)/info"))
        #expect(try await through("socks5h").exchange(url).status == 200)
    }

    @Test("a custom resolver finds the address that libcurl gives to a SOCKS proxy", arguments: ["socks4", "socks5"])
    func customResolverFindsAddressForSOCKSProxy(scheme: String) async throws {
        var parts = try #require(
            URLComponents(url: IntegrationEnvironment.url("DANTE"), resolvingAgainstBaseURL: false)
        )
        parts.scheme = scheme
        let proxy = try #require(parts.url)
        let transport = try makeTrustingTransport {
            $0.proxy = .url(proxy)
            $0.dns.resolver = { _, _ in DNSAnswer(addresses: ["127.0.0.1"]) }
        }
        let port = try #require(IntegrationEnvironment.url("NGINX").port)
        let url = try #require(URL(string: "http://shop.test:\(port)/info"))
        #expect(try await transport.exchange(url).status == 200)
    }

    @Test(arguments: ["socks4", "socks5", "socks5h"])
    func targetForbiddenByProxyIsProxyFailed(scheme: String) async throws {
        let url = try IntegrationEnvironment.url("CLOSED", "/")
        let transport = try through(scheme)
        let error = try #require(await transport.failure(url))
        #expect(error.code == .proxyFailed)
        #expect(error.phase == .proxy)
        #expect(error.isSafeToRetry)
    }
}
