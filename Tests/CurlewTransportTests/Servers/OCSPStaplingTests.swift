import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite(
    "OCSP stapling",
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "GnuTLS refuses servers that are their own authority"),
    .timeLimit(.minutes(4))
)
struct OCSPStaplingTests {
    /// Returns a server that staples a response about its certificate, signed with the certificate's own key; without a
    /// status, it staples none.
    private func server(_ version: String, status: String?) throws -> OpenSSLServer {
        guard let status else { return try OpenSSLServer(version, "") }
        return try OpenSSLServer(
            version, "-status_file staple.der",
            preparation: """
                printf '\(status)\\t01\\tunknown\\t/CN=localhost\\n' >index.txt
                openssl ocsp -index index.txt -CA cert.pem -rsigner cert.pem -rkey key.pem -issuer cert.pem -cert cert.pem \
                  -ndays 7 -respout staple.der >/dev/null 2>&1
                """)
    }

    /// Each request gets a new connection, because the server closes it. A resumed session would have no staple.
    @Test(arguments: ["tls1_2", "tls1_3"])
    func ocspStapleIsRequiredOfEveryConnection(_ version: String) async throws {
        let cases: [(String?, CurlewError.Code?)] = [
            ("V\\t401231235959Z\\t", nil), ("R\\t401231235959Z\\t240101000000Z", .certificateRevoked),
            (nil, .certificateRevoked),
        ]
        for (status, expected) in cases {
            let server = try server(version, status: status)
            var configuration = TransportConfiguration()
            configuration.proxy = .none
            configuration.tls.trustRoots = .file(server.certificate)
            configuration.tls.requiresOCSPStapling = true
            let transport = CurlTransport(configuration: configuration)
            for _ in 0..<3 {
                if let expected {
                    let error = await transport.failure(request(server.url))
                    #expect(error.code == expected, "\(error)")
                } else {
                    let answer = try await transport.fetch(request(server.url))
                    #expect(answer.status == 200)
                    #expect(answer.outcome.metrics.isConnectionReused == false)
                }
            }
            await transport.shutdown()
        }
    }

    @Test func ocspStaplingIsRefusedIfNotEnforced() throws {
        var capabilities = RequestPlanTests.capabilities
        for (backend, number, isEnforced) in [
            ("OpenSSL/3.0.15", 0x075801, true), ("GnuTLS/3.7.9", 0x075801, false), ("GnuTLS/3.8.9", 0x080901, false),
            ("GnuTLS/3.8.9", 0x080A00, true), ("mbedTLS/3.6.0", 0x080E01, false),
        ] {
            (capabilities.tlsBackend, capabilities.versionNumber) = (backend, number)
            var tls = TLSConfiguration()
            tls.requiresOCSPStapling = true
            var code: CurlewError.Code?
            do throws(CurlewError) {
                let texts = try TLSPlan.options(tls, .libcurlDefault, capabilities).map(\.description)
                #expect(texts.contains("SSL_VERIFYSTATUS=1") && texts.contains("SSL_SESSIONID_CACHE=0"))
            } catch {
                code = error.code
            }
            #expect(code == (isEnforced ? nil : .unsupported), "\(backend) \(number)")
        }
    }
}
