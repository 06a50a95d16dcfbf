import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite(
    "Client certificates for refused servers",
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"),
    .timeLimit(.minutes(4))
)
struct ClientCertificateOrderTests {
    private struct Verdict: TrustEvaluation {
        struct Refused: Error {}
        let isTrusted: Bool

        func evaluate(_ trust: ServerTrust) throws {
            if !isTrusted || trust.certificateChain.count != 1 || trust.host != "localhost" { throw Refused() }
        }
    }

    private func transport(_ server: OpenSSLServer, _ verdict: Verdict, replaces: Bool) -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.tls.clientIdentity = server.identity
        guard case .files(let certificate, _, _) = server.identity else { return CurlTransport() }
        configuration.tls.trustRoots = .file(certificate)
        configuration.trustEvaluation = verdict
        configuration.trustEvaluationReplacesVerification = replaces
        return CurlTransport(configuration: configuration)
    }

    @Test(arguments: ["tls1_2", "tls1_3"], [true, false])
    func refusedServerGetsNoClientCertificate(_ version: String, replaces: Bool) async throws {
        let server = try OpenSSLServer(version, "-verify 1")
        let refusing = transport(server, Verdict(isTrusted: false), replaces: replaces)
        let error = await refusing.failure(request(server.url, method: .post))
        #expect(error.code == .certificateUntrusted, "\(error)")
        #expect(error.underlying is Verdict.Refused)
        #expect(error.phase == .tls)
        #expect(error.isSafeToRetry)
        #expect(try server.nextEvent().hasPrefix("alert"))
        let trusting = transport(server, Verdict(isTrusted: true), replaces: replaces)
        #expect(try await trusting.fetch(request(server.url)).status == 200)
        #expect(try server.nextEvent() == "depth=0")
        await refusing.shutdown()
        await trusting.shutdown()
    }
}
