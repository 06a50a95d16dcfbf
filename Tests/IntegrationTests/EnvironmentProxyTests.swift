import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Proxies that the environment names. Each test starts a process, because the environment belongs to the process.
@Suite("Proxies of the environment", .realServers, .timeLimit(.minutes(4)))
struct EnvironmentProxyTests {
    private static let executable = ProbeProcess.executable.deletingLastPathComponent().appending(path: "curlew")

    /// Returns nginx's report about the request, or the command's report about its failure.
    private func info(_ server: String, _ environment: [String: String]) async throws -> String {
        let outcome = try await ProbeProcess.run(
            Self.executable,
            arguments: [
                "--verify", try IntegrationEnvironment.text("CA_FILE"), "--check-status", "-b",
                try IntegrationEnvironment.text(server) + "/info",
            ],
            environment: environment
        )
        return outcome.status == 0 ? outcome.output : "status \(outcome.status): \(outcome.errors)"
    }

    @Test func proxyVariablesAreUsed() async throws {
        let proxy = try IntegrationEnvironment.text("PROXY")
        #expect(try await info("NGINX", ["http_proxy": proxy]).contains("tinyproxy"))
        #expect(try await info("NGINX", ["all_proxy": proxy]).contains("tinyproxy"))
        #expect(try await info("NGINX", [:]).contains("via=direct"))
        // The variable in capitals is ignored, because in a CGI program a request's Proxy field sets it.
        #expect(try await info("NGINX", ["HTTP_PROXY": proxy]).contains("via=direct"))
        #expect(try await info("NGINX_TLS", ["http_proxy": "http://127.0.0.1:1"]).contains("via=direct"))
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.0/8", "other.test,127.0.0.1", "*"])
    func noProxyVariableIsObeyed(exceptions: String) async throws {
        let proxy = try IntegrationEnvironment.text("PROXY")
        for name in ["no_proxy", "NO_PROXY"] {
            #expect(try await info("NGINX", ["http_proxy": proxy, name: exceptions]).contains("via=direct"), "\(name)")
        }
    }

    @Test func credentialsOfProxyVariableAnswerBasicAndDigest() async throws {
        for name in ["SQUID_BASIC", "SQUID_DIGEST"] {
            var parts = try #require(
                URLComponents(url: IntegrationEnvironment.url(name), resolvingAgainstBaseURL: false))
            parts.user = try IntegrationEnvironment.text("SQUID_USER")
            parts.password = try IntegrationEnvironment.text("SQUID_PASSWORD")
            let proxy = try #require(parts.string)
            #expect(try await info("NGINX", ["http_proxy": proxy]).contains("method=GET"), "\(name)")
            #expect(try await info("NGINX_TLS", ["https_proxy": proxy]).contains("method=GET"), "\(name)")
        }
    }

    @Test func unreachableEnvironmentProxyIsNamedInError() async throws {
        let closed = try IntegrationEnvironment.text("CLOSED")
        let text = try await info("NGINX", ["http_proxy": closed])
        #expect(text.contains("status 1"), "\(text)")
        #expect(text.contains("proxy"), "\(text)")
    }

    @Test func redirectPastTheProxyIsCheckedForItsAddress() async throws {
        let proxy = try IntegrationEnvironment.url("SQUID")
        let server = try TestServer()
        server.route("/away") { call in .redirect(to: "http://localhost:\(call.serverPort)/get") }
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .url(proxy, exclusions: ["localhost"])
                $0.addressPolicy = .publicOnlyBehind(proxies: [proxy])
            })
        let response = await session.request(server.url("/away")).response()
        #expect(response.error?.code == .addressRefused, "\(response)")
        #expect(server.requests.map(\.path) == ["/away"])
        await session.invalidate()
        server.stop()
    }
}
