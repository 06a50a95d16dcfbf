import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Tests the rows of the table in Docs/Security.md over QUIC.
@Suite(
    "Trust over HTTP/3", .serialized,
    .enabled(
        if: RealServers.areUp && Capabilities.ofLibcurl.features.contains("HTTP3"),
        "needs the real servers and a libcurl with HTTP/3: run scripts/matrix gnutls"),
    .timeLimit(.minutes(4))
)
struct HTTP3TrustTests {
    private func exchange(_ server: String, _ change: (inout TransportConfiguration) throws -> Void = { _ in })
        async throws -> Answer
    {
        let url = try RealServers.url(server, "/protocol")
        return try await withSecureTransport({
            $0.httpVersion = .http3
            // With several addresses, libcurl may report one that did not respond instead of one whose chain was
            // refused.
            $0.dns.overrides = ["localhost": ["127.0.0.1"]]
            try change(&$0)
        }) { transport in
            try await transport.fetch(request(url) { $0.options.timeouts.connect = .seconds(5).asTestBound })
        }
    }

    private func failure(_ server: String, _ change: (inout TransportConfiguration) throws -> Void = { _ in }) async
        -> CurlewError?
    {
        do {
            _ = try await exchange(server, change)
            return nil
        } catch {
            return error as? CurlewError
        }
    }

    @Test func http3ChecksCertificatesLikeTCP() async throws {
        let answer = try await exchange("CADDY")
        #expect(answer.text == "HTTP/3.0")
        #expect(answer.outcome.head.version == .http3)
        // QUIC has no other version of TLS.
        #expect(answer.outcome.metrics.tlsVersion == "TLSv1.3")
        #expect(answer.outcome.metrics.tlsEstablished != nil)
        let pem = try Data(contentsOf: RealServers.file("CA_FILE"))
        #expect(try await exchange("CADDY") { $0.tls.trustRoots = .pem(pem) }.status == 200)
        let faults: [(String, CurlewError.Code)] = [
            ("CADDY_EXPIRED", .certificateExpired), ("CADDY_NOT_YET_VALID", .certificateExpired),
            ("CADDY_WRONG_HOST", .certificateHostMismatch), ("CADDY_UNKNOWN_CA", .certificateUntrusted),
        ]
        for (name, code) in faults {
            let error = try #require(await failure(name), "\(name)")
            #expect(error.code == code, "\(name): \(error)")
            #expect(error.phase == .tls)
            #expect(error.isSafeToRetry)
        }
        let error = try #require(await failure("CADDY") { $0.tls.trustRoots = .system })
        #expect(error.code == .certificateUntrusted, "\(error)")
    }

    @Test func http3ChecksRevocationListsPinsAndStaples() async throws {
        let list = try RealServers.file("CRL_FILE")
        #expect(try await exchange("CADDY_REVOKED").status == 200)
        let revoked = await failure("CADDY_REVOKED") { $0.tls.certificateRevocationList = list }
        #expect(revoked?.code == .certificateRevoked, "\(String(describing: revoked))")
        let pin = "sha256//" + Data(count: 32).base64EncodedString()
        let pinned = await failure("CADDY") { $0.tls.publicKeyPins = [pin] }
        #expect(pinned?.code == .certificateUntrusted && pinned?.native?.number == 90)
        let unstapled = await failure("CADDY") { $0.tls.requiresOCSPStapling = true }
        #expect(unstapled?.code == .certificateRevoked)
    }

    @Test func http3SendsClientCertificateFromFiles() async throws {
        let certificate = try RealServers.file("CLIENT_CERTIFICATE")
        let key = try RealServers.file("CLIENT_KEY")
        let known = try await exchange("CADDY_CLIENT_CERTIFICATE") {
            $0.tls.clientIdentity = .files(certificate: certificate, key: key)
        }
        #expect(known.status == 200)
        // libcurl reports that the connection drains, not the server's alert.
        #expect(await failure("CADDY_CLIENT_CERTIFICATE") != nil)
    }

    @Test(.enabled(if: RealServers.usesGnuTLS && Capabilities.ofLibcurl.quirks.ignoresQUICChainWithGnuTLS))
    func checksThatQUICSkipsAreUnsupported() async throws {
        let loose = await failure("CADDY_UNKNOWN_CA") {
            $0.tls.certificateVerification = .noHostnameVerification
        }
        #expect(loose?.code == .unsupported)
        let pinned = await failure("CADDY_UNKNOWN_CA") {
            $0.tls.certificateVerification = .none
            $0.tls.publicKeyPins = ["sha256//" + Data(count: 32).base64EncodedString()]
        }
        #expect(pinned?.code == .unsupported)
        // The configuration asks for no check, so it is supported.
        #expect(
            try await exchange("CADDY_UNKNOWN_CA") { $0.tls.certificateVerification = .none }.status == 200)
    }
}
