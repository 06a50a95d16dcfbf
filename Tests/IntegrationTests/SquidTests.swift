import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// Proxy authentication and refusals, with squid as the proxy.
@Suite("Proxy authentication at squid", .realServers, .timeLimit(.minutes(4)))
struct SquidTests {
    private func through(_ name: String, username: String? = nil, password: String? = nil) throws -> CurlTransport {
        try makeTrustingTransport {
            $0.proxy = .url(try IntegrationEnvironment.url(name), username: username, password: password)
        }
    }

    private func withPassword(_ name: String) throws -> CurlTransport {
        try through(
            name,
            username: IntegrationEnvironment.text("SQUID_USER"),
            password: IntegrationEnvironment.text("SQUID_PASSWORD")
        )
    }

    @Test(arguments: ["SQUID_BASIC", "SQUID_DIGEST", "SQUID_NTLM", "SQUID_ANY"], ["NGINX", "NGINX_TLS"])
    func proxyPasswordIsAcceptedAndNotForwarded(proxy: String, server: String) async throws {
        let answer = try await withPassword(proxy).exchange(IntegrationEnvironment.url(server, "/info"))
        #expect(answer.status == 200)
        // The proxy does not forward its credentials to the server.
        #expect(answer.seen("proxy_authorization") == "")
        #expect(answer.seen("authorization") == "")
    }

    @Test(arguments: ["SQUID_BASIC", "SQUID_DIGEST", "SQUID_ANY"])
    func wrongProxyPasswordIs407OrTunnelError(proxy: String) async throws {
        let transport = try through(proxy, username: "stranger", password: "wrong")
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/info")).status == 407)
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let error = try #require(await transport.failure(url))
        #expect(error.code == .proxyFailed)
        #expect(error.phase == .proxy)
        #expect(error.responseCode == 407)
        #expect(error.isSafeToRetry)
        #expect(!"\(error)".contains("wrong"))
    }

    @Test(arguments: ["SQUID_BASIC", "SQUID_DIGEST"], [1000, 300_000])
    func bodyIsSentThroughProxyAfterChallenge(proxy: String, count: Int) async throws {
        let transport = try withPassword(proxy)
        var options = TransferOptions()
        // squid 5 cannot continue a connection on which it has refused a large body, so the client waits for 100
        // (Continue).
        if count > 65536 { options.expectContinue = .always }
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let path = "/stored/through-\(proxy.lowercased())-\(count)"
        let answer = try await transport.exchange(
            IntegrationEnvironment.url("NGINX", path),
            method: .put,
            body: .data(body),
            options: options
        )
        #expect(answer.status == 201 || answer.status == 204)
        let file = try IntegrationEnvironment.file("NGINX_STORED").appending(path: path.dropFirst("/stored/".count))
        #expect(try Data(contentsOf: file) == body)
        try FileManager.default.removeItem(at: file)
    }

    @Test func trustedProxyMayHavePrivateAddress() async throws {
        let proxy = try IntegrationEnvironment.url("SQUID")
        let policy = AddressPolicy.publicOnlyBehind(proxies: [proxy])
        let transport = try makeTrustingTransport {
            $0.proxy = .url(proxy, exclusions: ["localhost"])
            $0.addressPolicy = policy
        }
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/info")).status == 200)
        // The address of a host that bypasses the proxy is checked by the client.
        let direct = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let error = await transport.failure(direct)
        #expect(error?.code == .addressRefused)
    }

    @Test func refusalByProxyIsDelivered() async throws {
        let answer = try await through("SQUID").exchange(IntegrationEnvironment.url("NGINX", "/forbidden"))
        #expect(answer.status == 403)
        #expect(answer.head.headers["Server"]?.hasPrefix("squid") == true)
    }

    @Test func tunnelToClosedPortIsProxyFailed() async throws {
        let port = try #require(IntegrationEnvironment.url("CLOSED").port)
        let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
        let transport = try through("SQUID")
        let error = try #require(await transport.failure(url))
        #expect(error.code == .proxyFailed)
        #expect(error.responseCode == 503)
    }

    @Test func credentialsInProxyURLAreUsedAndRedacted() async throws {
        var parts = try #require(
            URLComponents(url: IntegrationEnvironment.url("SQUID_DIGEST"), resolvingAgainstBaseURL: false)
        )
        parts.user = try IntegrationEnvironment.text("SQUID_USER")
        parts.password = try IntegrationEnvironment.text("SQUID_PASSWORD")
        let proxy = Proxy.url(try #require(parts.url))
        #expect(!"\(proxy)".contains("correct"))
        let transport = try makeTrustingTransport { $0.proxy = proxy }
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/info")).status == 200)
    }
}
