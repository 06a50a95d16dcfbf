import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite(
    "Missing client certificate",
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "GnuTLS does not tell which alert came"),
    .timeLimit(.minutes(4))
)
struct MissingClientCertificateTests {
    /// With TLS 1.3 the server's alert arrives after the handshake. The request may have been sent by then, or the
    /// connection may close before it is sent.
    @Test(arguments: ["tls1_2", "tls1_3"])
    func missingClientCertificateIsReportedEachTime(_ version: String) async throws {
        let server = try OpenSSLServer(version, "-Verify 1 -verify_return_error")
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.tls.certificateVerification = .none
        let transport = CurlTransport(configuration: configuration)
        for _ in 0..<100 {
            let error = await transport.failure(request(server.url))
            #expect(error.code == .clientCertificateRequired, "\(error)")
            #expect(error.phase == .tls)
        }
        await transport.shutdown()
    }
}
