import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("Client certificates", .realServers, .timeLimit(.minutes(4)))
struct ClientCertificateTests {
    enum Form: CaseIterable, Sendable { case files, pem, pkcs12 }

    private func identity(_ form: Form) throws -> ClientIdentity {
        let certificate = try IntegrationEnvironment.file("CLIENT_CERTIFICATE")
        let key = try IntegrationEnvironment.file("CLIENT_KEY")
        switch form {
        case .files: return .files(certificate: certificate, key: key)
        case .pem: return .pem(certificate: try Data(contentsOf: certificate), key: try Data(contentsOf: key))
        case .pkcs12:
            let archive = try Data(contentsOf: IntegrationEnvironment.file("CLIENT_PKCS12"))
            return .pkcs12(archive, passphrase: "secret")
        }
    }

    @Test(arguments: Form.allCases)
    func serverReceivesTheClientCertificate(form: Form) async throws {
        let transport = try makeTrustingTransport { $0.tls.clientIdentity = try identity(form) }
        let url = try IntegrationEnvironment.url("NGINX_CLIENT_CERTIFICATE", "/info")
        // With GnuTLS, libcurl would send the request without a certificate that is in memory.
        if IntegrationEnvironment.usesGnuTLS, form != .files {
            #expect(await transport.failure(url)?.code == .unsupported)
            return
        }
        let answer = try await transport.exchange(url)
        #expect(answer.status == 200)
        #expect(answer.seen("client") == "CN=curlew-client")
    }

    @Test func missingClientCertificateIs400FromNginx() async throws {
        let answer = try await makeTrustingTransport().exchange(
            IntegrationEnvironment.url("NGINX_CLIENT_CERTIFICATE", "/info")
        )
        #expect(answer.status == 400)
    }

    @Test(arguments: ["TLS12_CLIENT_CERTIFICATE_REQUIRED", "TLS13_CLIENT_CERTIFICATE_REQUIRED"])
    func requiredClientCertificateIsAccepted(server: String) async throws {
        let transport = try makeTrustingTransport { $0.tls.clientIdentity = try identity(.files) }
        #expect(try await transport.exchange(IntegrationEnvironment.url(server, "/")).status == 200)
    }

    @Test(arguments: ["TLS12_CLIENT_CERTIFICATE_REQUIRED", "TLS13_CLIENT_CERTIFICATE_REQUIRED"])
    func untrustedClientCertificateIsRefused(server: String) async throws {
        let transport = try makeTrustingTransport {
            $0.tls.clientIdentity = .files(
                certificate: try IntegrationEnvironment.file("STRANGE_CLIENT_CERTIFICATE"),
                key: try IntegrationEnvironment.file("STRANGE_CLIENT_KEY")
            )
        }
        let url = try IntegrationEnvironment.url(server, "/")
        let error = await transport.failure(url)
        // Over TLS 1.3 the alert arrives after the handshake, and with GnuTLS libcurl does not report which alert it
        // is.
        let isTold = !IntegrationEnvironment.usesGnuTLS || server.hasPrefix("TLS12")
        #expect(error?.code == (isTold ? .clientCertificateRequired : .tlsFailed))
    }
}
