import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Testing

/// DNS over HTTPS (RFC 8484), with a name server on loopback for this test alone.
@Suite("DNS over HTTPS", .realServers, .timeLimit(.minutes(4)))
struct NameTests {
    private func url(_ name: String) throws -> URL {
        let port = try #require(IntegrationEnvironment.url("NGINX").port)
        return try #require(URL(string: "http://\(name):\(port)/info"))
    }

    private func resolving(_ change: (inout TransportConfiguration) -> Void = { _ in }) throws -> CurlTransport {
        try makeTrustingTransport {
            $0.dns.dohURL = try IntegrationEnvironment.url("DOH")
            change(&$0)
        }
    }

    @Test(arguments: ["here.curlew.test", "a.wild.curlew.test", "alias.curlew.test"])
    func namesAreResolvedOverDoH(name: String) async throws {
        let answer = try await resolving().exchange(url(name))
        #expect(answer.status == 200)
        #expect(answer.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
    }

    @Test func unknownNameIsResolveFailed() async throws {
        let target = try url("nobody.curlew.test")
        let error = try #require(await resolving().failure(target))
        #expect(error.code == .resolveFailed)
        #expect(error.phase == .resolve)
        #expect(error.isSafeToRetry)
    }

    @Test func certificateOfDoHServerIsVerified() async throws {
        let name = try IntegrationEnvironment.url("DOH")
        let target = try url("here.curlew.test")
        let transport = makeTransport { $0.dns.dohURL = name }
        let error = try #require(await transport.failure(target))
        #expect(error.code == .resolveFailed || error.isTLS, "\(error)")
    }

    /// An evaluator that records the hosts it is asked about, and trusts all of them.
    private final class RecordingEvaluator: TrustEvaluation {
        let hosts = Lock<[String]>([])

        func evaluate(_ trust: ServerTrust) throws { hosts.withLock { $0.append(trust.host) } }
    }

    @Test(.enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"), arguments: [true, false])
    func evaluatorIsNotCalledForDoHServer(decidesAlone: Bool) async throws {
        let evaluator = RecordingEvaluator()
        let transport = try resolving {
            $0.trustEvaluation = evaluator
            $0.trustEvaluationReplacesVerification = decidesAlone
        }
        #expect(try await transport.exchange(url("here.curlew.test")).status == 200)
        #expect(evaluator.hosts.withLock { $0 }.isEmpty)
        // The certificate is for localhost. libcurl skips its own comparison of names only if the evaluator decides
        // alone.
        guard decidesAlone else { return }
        let port = try #require(IntegrationEnvironment.url("NGINX_TLS").port)
        let secure = try #require(URL(string: "https://a.wild.curlew.test:\(port)/info"))
        #expect(try await transport.exchange(secure).status == 200)
        #expect(evaluator.hosts.withLock { $0 } == ["a.wild.curlew.test"])
    }

    @Test(
        "the DNS server's certificate is verified even if an evaluator trusts every server",
        .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"))
    func theServerOfNamesIsVerifiedBesideAnEvaluator() async throws {
        let (name, target) = (try IntegrationEnvironment.url("DOH"), try url("here.curlew.test"))
        let transport = makeTransport {
            $0.dns.dohURL = name
            $0.trustEvaluation = RecordingEvaluator()
            $0.trustEvaluationReplacesVerification = true
        }
        let error = try #require(await transport.failure(target))
        #expect(error.code == .resolveFailed || error.isTLS, "\(error)")
    }

    @Test func privateAddressFromDoHIsRefused() async throws {
        let target = try url("private.curlew.test")
        let transport = try resolving { $0.addressPolicy = .publicOnly }
        let error = try #require(await transport.failure(target))
        #expect(error.code == .addressRefused, "\(error)")
        #expect(error.reason.contains("10.1.2.3"))
    }

    @Test func ipVersionAppliesToDoH() async throws {
        let transport = try resolving { $0.dns.ipVersion = .v4 }
        let answer = try await transport.exchange(url("both.curlew.test"))
        #expect(answer.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
    }

    @Test func dnsServersNeedLibcurlWithCustomResolver() async throws {
        let target = try url("here.curlew.test")
        let port = try IntegrationEnvironment.text("DNS_PORT")
        let transport = makeTransport { $0.dns.servers = ["127.0.0.1:\(port)"] }
        if Capabilities.ofLibcurl.hasCustomResolver {
            #expect(try await transport.exchange(target).status == 200)
        } else {
            let error = await transport.failure(target)
            #expect(error?.code == .unsupported)
        }
    }
}
