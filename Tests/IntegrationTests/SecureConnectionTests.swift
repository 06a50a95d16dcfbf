import Curlew
import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("TLS at real servers", .realServers, .timeLimit(.minutes(4)))
struct SecureConnectionTests {
    @Test func configuredCertificateAuthorityIsTrusted() async throws {
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let answer = try await makeTrustingTransport().exchange(url)
        #expect(answer.status == 200)
        #expect(answer.head.version == .http2)
        #expect(answer.seen("tls") == "TLSv1.3")
        #expect(answer.metrics.tlsEstablished != nil)
    }

    @Test func trustRootsMayBeInMemory() async throws {
        let pem = try Data(contentsOf: IntegrationEnvironment.file("CA_FILE"))
        let transport = makeTransport { $0.tls.trustRoots = .pem(pem) }
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX_TLS", "/info")).status == 200)
    }

    @Test func testAuthorityIsNotTrustedByDefault() async throws {
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let error = await makeTransport().failure(url)
        #expect(error?.code == .certificateUntrusted)
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let server: String
        let code: CurlewError.Code

        var testDescription: String { "\(server) is \(code)" }
    }

    // GnuTLS accepts an RSA key of 1024 bits, and libcurl does not report which alert GnuTLS received.
    static let demanding: CurlewError.Code =
        IntegrationEnvironment.usesGnuTLS ? .tlsFailed : .clientCertificateRequired
    static let faults =
        [
            Fault(server: "NGINX_EXPIRED", code: .certificateExpired),
            Fault(server: "NGINX_NOT_YET_VALID", code: .certificateExpired),
            Fault(server: "NGINX_WRONG_HOST", code: .certificateHostMismatch),
            Fault(server: "NGINX_UNKNOWN_CA", code: .certificateUntrusted),
            Fault(server: "NGINX_SELF_SIGNED", code: .certificateUntrusted),
            Fault(server: "NGINX_INCOMPLETE_CHAIN", code: .certificateUntrusted),
            Fault(server: "NGINX_TLS10", code: .tlsFailed),
            Fault(server: "TLS12_CLIENT_CERTIFICATE_REQUIRED", code: demanding),
            Fault(server: "TLS13_CLIENT_CERTIFICATE_REQUIRED", code: demanding),
        ] + (IntegrationEnvironment.usesGnuTLS ? [] : [Fault(server: "NGINX_WEAK", code: .certificateUntrusted)])

    @Test(arguments: faults)
    func eachCertificateFaultHasItsOwnCode(fault: Fault) async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url(fault.server, "/info")
        let error = try #require(await transport.failure(url))
        #expect(error.code == fault.code, "\(error)")
        #expect(error.isTLS)
        #expect(error.phase == .tls)
        #expect(error.native != nil)
    }

    /// OpenSSL's verdict (x509_vfy.h) distinguishes failures that have the same code.
    @Test(
        .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "the chain is seen through OpenSSL"),
        arguments: [
            ("NGINX_NOT_YET_VALID", 9), ("NGINX_EXPIRED", 10), ("NGINX_SELF_SIGNED", 18), ("NGINX_UNKNOWN_CA", 20),
            ("NGINX_INCOMPLETE_CHAIN", 20), ("NGINX_WRONG_HOST", 0),
        ])
    func refusedCertificateErrorHasChainAndVerdict(server: String, verdict: Int) async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url(server, "/info")
        let error = try #require(await transport.failure(url))
        let trust = try #require(error.serverTrust)
        #expect(trust.host == "localhost")
        #expect(trust.verifyResult == verdict)
        let certificate = try #require(trust.certificates.first)
        #expect(certificate.subject.contains(server == "NGINX_WRONG_HOST" ? "elsewhere.example" : "localhost"))
    }

    @Test func missingOrRevokedOCSPStapleIsRefused() async throws {
        let careful = try makeTrustingTransport { $0.tls.requiresOCSPStapling = true }
        #expect(try await careful.exchange(IntegrationEnvironment.url("NGINX_STAPLED_GOOD", "/info")).status == 200)
        for server in ["NGINX_STAPLED_REVOKED", "NGINX_TLS"] {
            let url = try IntegrationEnvironment.url(server, "/info")
            let error = try #require(await careful.failure(url), "\(server)")
            #expect(error.code == .certificateRevoked, "\(error)")
            #expect(error.phase == .tls)
            // GnuTLS checks a stapled response by default.
            if IntegrationEnvironment.usesGnuTLS, server == "NGINX_STAPLED_REVOKED" { continue }
            #expect(try await makeTrustingTransport().exchange(url).status == 200)
        }
    }

    @Test func cipherListDecidesTheCipher() async throws {
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        // GnuTLS has another notation for ciphers.
        if IntegrationEnvironment.usesGnuTLS {
            for change: (inout TLSConfiguration) -> Void in [
                { $0.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384" },
                { $0.tls13CipherSuites = "TLS_AES_128_GCM_SHA256" },
            ] {
                let error = await (try makeTrustingTransport { change(&$0.tls) }).failure(url)
                #expect(error?.code == .unsupported)
            }
            return
        }
        let chosen = try makeTrustingTransport {
            $0.tls.maximumVersion = .v1_2
            $0.tls.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
        }
        #expect(try await chosen.exchange(url).metrics.tlsCipher == "ECDHE-ECDSA-AES256-GCM-SHA384")
        let suites = try makeTrustingTransport { $0.tls.tls13CipherSuites = "TLS_CHACHA20_POLY1305_SHA256" }
        #expect(try await suites.exchange(url).metrics.tlsCipher == "TLS_CHACHA20_POLY1305_SHA256")
        // The server's key cannot be used with this cipher.
        let none = try makeTrustingTransport {
            $0.tls.maximumVersion = .v1_2
            $0.tls.cipherList = "ECDHE-RSA-AES128-GCM-SHA256"
        }
        let error = await none.failure(url)
        #expect(error?.code == .tlsFailed)
    }

    @Test func http2IsNotUsedWithoutALPN() async throws {
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let answer = try await makeTrustingTransport { $0.tls.usesALPN = false }.exchange(url)
        #expect(answer.head.version == .http1_1)
    }

    @Test func connectToKeepsNameForVerification() async throws {
        let port = try #require(IntegrationEnvironment.url("NGINX_TLS").port)
        let url = try #require(URL(string: "https://localhost/info"))
        let answer = try await makeTrustingTransport { $0.tls.connectTo = ["localhost:443": "127.0.0.1:\(port)"] }
            .exchange(url)
        #expect(answer.status == 200)
        // The certificate is compared with the URL's host.
        let other = try #require(URL(string: "https://elsewhere.test/info"))
        let misled = try makeTrustingTransport { $0.tls.connectTo = ["elsewhere.test:443": "127.0.0.1:\(port)"] }
        let error = await misled.failure(other)
        #expect(error?.code == .certificateHostMismatch)
    }

    @Test func revokedCertificateIsRefusedOnlyWithTheList() async throws {
        let url = try IntegrationEnvironment.url("NGINX_REVOKED", "/info")
        let list = try IntegrationEnvironment.file("CRL_FILE")
        let careful = try makeTrustingTransport { $0.tls.certificateRevocationList = list }
        let error = await careful.failure(url)
        #expect(error?.code == .certificateRevoked)
        #expect(try await careful.exchange(IntegrationEnvironment.url("NGINX_TLS", "/info")).status == 200)
        #expect(try await makeTrustingTransport().exchange(url).status == 200)
    }

    @Test func anyCertificateIsAcceptedWithoutVerification() async throws {
        let transport = makeTransport { $0.tls.certificateVerification = .none }
        for server in ["NGINX_EXPIRED", "NGINX_WRONG_HOST", "NGINX_UNKNOWN_CA"] {
            #expect(try await transport.exchange(IntegrationEnvironment.url(server, "/info")).status == 200)
        }
    }

    @Test func chainIsVerifiedWithoutHostnameVerification() async throws {
        let transport = try makeTrustingTransport { $0.tls.certificateVerification = .noHostnameVerification }
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX_WRONG_HOST", "/info")).status == 200)
        let url = try IntegrationEnvironment.url("NGINX_UNKNOWN_CA", "/info")
        let error = await transport.failure(url)
        #expect(error?.code == .certificateUntrusted)
    }

    @Test func maximumTLSVersionIsObeyed() async throws {
        let url = try IntegrationEnvironment.url("NGINX_TLS13", "/info")
        #expect(try await makeTrustingTransport().exchange(url).seen("tls") == "TLSv1.3")
        let old = try makeTrustingTransport { $0.tls.maximumVersion = .v1_2 }
        let error = await old.failure(url)
        #expect(error?.code == .tlsFailed)
        let both = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        #expect(try await old.exchange(both).seen("tls") == "TLSv1.2")
    }
}
