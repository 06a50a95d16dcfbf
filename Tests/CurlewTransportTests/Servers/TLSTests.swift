import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import CurlewTransport

@Suite("TLS", .enabled(if: RealServers.areUp), .timeLimit(.minutes(4)))
struct TLSTests {
    @Test(arguments: [
        ("NGINX_EXPIRED", CurlewError.Code.certificateExpired), ("NGINX_NOT_YET_VALID", .certificateExpired),
        ("NGINX_WRONG_HOST", .certificateHostMismatch), ("NGINX_UNKNOWN_CA", .certificateUntrusted),
        ("NGINX_SELF_SIGNED", .certificateUntrusted), ("NGINX_TLS10", .tlsFailed),
        ("NGINX_INCOMPLETE_CHAIN", .certificateUntrusted),
    ])
    func certificateFailuresHaveDistinctCodes(_ server: String, _ code: CurlewError.Code) async throws {
        try await withSecureTransport { transport in
            let error = await transport.failure(request(try RealServers.url(server, "/small"), method: .post))
            #expect(error.code == code, "\(error)")
            #expect(error.phase == .tls)
            #expect(error.isTLS)
            #expect(error.isSafeToRetry)
            #expect(error.native != nil)
        }
    }

    @Test func errorSaysThatCertificateIsNotYetValid() async throws {
        try await withSecureTransport { transport in
            let error = await transport.failure(request(try RealServers.url("NGINX_NOT_YET_VALID")))
            #expect(error.reason.contains("not yet valid"))
        }
    }

    @Test func revocationListRefusesRevokedCertificate() async throws {
        try await withSecureTransport({ $0.tls.certificateRevocationList = try RealServers.file("CRL_FILE") }) {
            transport in
            let error = await transport.failure(request(try RealServers.url("NGINX_REVOKED")))
            #expect(error.code == .certificateRevoked, "\(error)")
            let good = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(good.status == 200)
        }
    }

    /// Versions of libcurl whose connections share one store of roots, which must contain the list.
    @Test(arguments: [0x075000, 0x08_1500])
    func revocationListWorksOnEveryLibcurl(_ version: Int) async throws {
        var capabilities = Capabilities.ofLibcurl
        capabilities.versionNumber = version
        let file = try RealServers.file("CA_FILE")
        for roots in [TrustRoots.file(file), .pem(try Data(contentsOf: file))] {
            var configuration = TransportConfiguration()
            configuration.proxy = .none
            configuration.tls.trustRoots = roots
            configuration.tls.certificateRevocationList = try RealServers.file("CRL_FILE")
            let transport = CurlTransport(configuration: configuration, capabilities: capabilities)
            let error = await transport.failure(request(try RealServers.url("NGINX_REVOKED")))
            #expect(error.code == .certificateRevoked, "\(error)")
            let good = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(good.status == 200)
            configuration.tls.certificateRevocationList = URL(filePath: "/dev/null")
            let broken = CurlTransport(configuration: configuration, capabilities: capabilities)
            let unreadable = await broken.failure(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(unreadable.code == .tlsFailed)
            // With GnuTLS, libcurl reads the list for each connection.
            #expect(unreadable.phase == (RealServers.usesGnuTLS ? .tls : .creation))
        }
    }

    @Test func trustRootsAreReadFromFileAndBytes() async throws {
        let file = try RealServers.file("CA_FILE")
        let pem = try Data(contentsOf: file)
        for roots in [TrustRoots.file(file), .pem(pem)] {
            try await withSecureTransport({ $0.tls.trustRoots = roots }) { transport in
                let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
                #expect(answer.status == 200)
                #expect(answer.outcome.metrics.tlsVersion == "TLSv1.3")
                #expect(answer.outcome.metrics.tlsCipher?.hasPrefix("TLS_") == true)
                #expect(answer.outcome.metrics.tlsEstablished != nil)
            }
        }
        try await withSecureTransport({ $0.tls.trustRoots = .system }) { transport in
            let error = await transport.failure(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(error.code == .certificateUntrusted)
        }
    }

    /// Passes a directory as `openssl rehash` lays it out: each certificate is found by the hash of its subject.
    private func withDirectoryOfRoots(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "roots-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.copyItem(at: try RealServers.file("CA_FILE"), to: directory.appending(path: "ca.pem"))
        let rehash = Process()
        rehash.executableURL = URL(filePath: "/usr/bin/openssl")
        rehash.arguments = ["rehash", directory.path]
        try rehash.run()
        rehash.waitUntilExit()
        try #require(rehash.terminationStatus == 0)
        try await body(directory)
    }

    @Test func trustRootsAreReadFromDirectory() async throws {
        try await withDirectoryOfRoots { directory in
            try await withSecureTransport({ $0.tls.trustRoots = .directory(directory) }) { transport in
                let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
                #expect(answer.status == 200)
                let error = await transport.failure(request(try RealServers.url("NGINX_UNKNOWN_CA")))
                #expect(error.code == .certificateUntrusted)
            }
        }
    }

    /// The evaluator sees the verdict about the chain and the revocation list, for every kind of roots.
    @Test(.enabled(if: Capabilities.ofLibcurl.usesOpenSSL))
    func evaluatorInPlaceOfLibcurlSeesVerifyResult() async throws {
        struct Verdict: TrustEvaluation {
            func evaluate(_ trust: ServerTrust) throws {
                guard trust.verifyResult == 0 else {
                    throw CurlewError(.certificateUntrusted, phase: .tls, reason: "verdict \(trust.verifyResult)")
                }
            }
        }
        let file = try RealServers.file("CA_FILE")
        let list = try RealServers.file("CRL_FILE")
        try await withDirectoryOfRoots { directory in
            for roots in [TrustRoots.file(file), .pem(try Data(contentsOf: file)), .directory(directory)] {
                try await withSecureTransport({
                    $0.tls.trustRoots = roots
                    $0.tls.certificateRevocationList = list
                    $0.trustEvaluation = Verdict()
                    $0.trustEvaluationReplacesVerification = true
                }) { transport in
                    let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
                    #expect(answer.status == 200, "\(roots)")
                    let unknown = await transport.failure(request(try RealServers.url("NGINX_UNKNOWN_CA")))
                    #expect(unknown.reason == "verdict 20", "\(roots)")
                    let revoked = await transport.failure(request(try RealServers.url("NGINX_REVOKED")))
                    #expect(revoked.reason == "verdict 23", "\(roots)")
                }
            }
        }
    }

    @Test func wrongPassphraseIsAnError() async throws {
        let archive = try Data(contentsOf: RealServers.file("CLIENT_PKCS12"))
        for passphrase in ["wrong", nil] {
            try await withSecureTransport({
                $0.tls.clientIdentity = .pkcs12(archive, passphrase: passphrase)
            }) { transport in
                let error = await transport.failure(request(try RealServers.url("NGINX_CLIENT_CERTIFICATE", "/small")))
                #expect(error.code == (RealServers.usesGnuTLS ? .unsupported : .tlsFailed), "\(error)")
                #expect(RealServers.usesGnuTLS || error.native?.number == 58)
                #expect(!error.description.contains("wrong"))
            }
        }
    }

    @Test func certificateVerificationCanBeLoosened() async throws {
        try await withSecureTransport({ $0.tls.certificateVerification = .none }) { transport in
            for server in ["NGINX_EXPIRED", "NGINX_SELF_SIGNED", "NGINX_WRONG_HOST"] {
                let answer = try await transport.fetch(request(try RealServers.url(server, "/small")))
                #expect(answer.status == 200)
            }
        }
        try await withSecureTransport({ $0.tls.certificateVerification = .noHostnameVerification }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGINX_WRONG_HOST", "/small")))
            #expect(answer.status == 200)
            let error = await transport.failure(request(try RealServers.url("NGINX_SELF_SIGNED")))
            #expect(error.code == .certificateUntrusted)
        }
    }

    @Test func clientCertificateIsSentToTheServer() async throws {
        let certificate = try RealServers.file("CLIENT_CERTIFICATE")
        let key = try RealServers.file("CLIENT_KEY")
        var identities: [ClientIdentity] = [.files(certificate: certificate, key: key)]
        if !RealServers.usesGnuTLS {
            identities.append(.pem(certificate: try Data(contentsOf: certificate), key: try Data(contentsOf: key)))
        }
        for identity in identities {
            try await withSecureTransport({ $0.tls.clientIdentity = identity }) { transport in
                for server in [
                    "NGINX_CLIENT_CERTIFICATE", "TLS12_CLIENT_CERTIFICATE_REQUIRED",
                    "TLS13_CLIENT_CERTIFICATE_REQUIRED",
                ] {
                    let answer = try await transport.fetch(request(try RealServers.url(server, "/small")))
                    #expect(answer.status == 200, "\(server)")
                }
            }
        }
        try await withSecureTransport { transport in
            let error = await transport.failure(
                request(try RealServers.url("TLS13_CLIENT_CERTIFICATE_REQUIRED", "/small")))
            // With GnuTLS, libcurl reports only that it got an alert, or that the handshake failed.
            let expected: CurlewError.Code = RealServers.usesGnuTLS ? .tlsFailed : .clientCertificateRequired
            #expect(error.code == expected, "\(error)")
            // TLS 1.2 has no alert for a missing certificate. The server asks for one, and then reports that the
            // handshake failed.
            let older = await transport.failure(
                request(try RealServers.url("TLS12_CLIENT_CERTIFICATE_REQUIRED", "/small")))
            #expect(older.code == expected, "\(older)")
            #expect(older.phase == .tls)
            #expect(older.isSafeToRetry)
        }
    }

    @Test func versionsAreBounded() async throws {
        try await withSecureTransport({ $0.tls.maximumVersion = .v1_2 }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(answer.outcome.metrics.tlsVersion == "TLSv1.2")
            let error = await transport.failure(request(try RealServers.url("NGINX_TLS13", "/small")))
            #expect(error.code == .tlsFailed)
            #expect(error.phase == .tls)
        }
        try await withSecureTransport({ $0.tls.minimumVersion = .v1_3 }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS13", "/small")))
            #expect(answer.outcome.metrics.tlsVersion == "TLSv1.3")
            // This server speaks only TLS 1.2. It would ask for a certificate, but the handshake fails earlier.
            let error = await transport.failure(
                request(try RealServers.url("TLS12_CLIENT_CERTIFICATE_REQUIRED", "/small")))
            #expect(error.code == .tlsFailed, "\(error)")
        }
    }

    @Test func unpinnedPublicKeyIsRefused() async throws {
        try await withSecureTransport({
            $0.tls.publicKeyPins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        }) {
            let error = await $0.failure(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(error.code == .certificateUntrusted)
            #expect(error.native?.number == 90)
        }
    }

    // With GnuTLS, libcurl does not resume these sessions.
    @Test(.enabled(if: !RealServers.usesGnuTLS)) func sessionsAreResumed() async throws {
        try await withSecureTransport { transport in
            var bodies: [String] = []
            for _ in 0..<3 {
                bodies.append(
                    try await transport.fetch(
                        request(try RealServers.url("NGINX_TLS_HTTP1", "/info"), headers: ["Connection": "close"])
                    ).text)
            }
            #expect(bodies[0].contains("session=."))
            #expect(bodies[2].contains("session=r"))
        }
    }

    @Test(.enabled(if: Capabilities.ofLibcurl.usesOpenSSL)) func theKeyLogIsWritten() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID())")
        defer { try? FileManager.default.removeItem(at: log) }
        try await withSecureTransport({ $0.tls.keyLogFile = log }) { transport in
            _ = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
        }
        #expect(try String(contentsOf: log, encoding: .utf8).contains("CLIENT_TRAFFIC_SECRET_0"))
    }

    private final class Evaluator: TrustEvaluation {
        struct Refused: Error {}
        let seen = Lock<[ServerTrust]>([])
        let refuses: Bool

        init(refuses: Bool) { self.refuses = refuses }

        func evaluate(_ trust: ServerTrust) throws {
            seen.withLock { $0.append(trust) }
            if refuses { throw Refused() }
        }
    }

    @Test(.enabled(if: Capabilities.ofLibcurl.usesOpenSSL))
    func evaluatorIsCalledOncePerConnectionBeforeSending() async throws {
        let kind = Evaluator(refuses: false)
        try await withSecureTransport({ $0.trustEvaluation = kind }) { transport in
            for _ in 0..<3 { _ = try await transport.fetch(request(try RealServers.url("NGINX_TLS_HTTP1", "/small"))) }
            let seen = kind.seen.withLock { $0 }
            #expect(seen.count == 1)
            #expect(seen.first?.host == "localhost")
            #expect((seen.first?.certificateChain.count ?? 0) >= 1)
            #expect(seen.first?.verifyResult == 0)
        }
        let strict = Evaluator(refuses: true)
        try await withSecureTransport({ $0.trustEvaluation = strict }) { transport in
            for _ in 0..<2 {
                let error = await transport.failure(
                    request(try RealServers.url("NGINX_TLS_HTTP1", "/small"), method: .post))
                #expect(error.code == .certificateUntrusted)
                #expect(error.underlying is Evaluator.Refused)
                #expect(error.isSafeToRetry)
            }
        }
        // The evaluator's verdict replaces libcurl's.
        let own = Evaluator(refuses: false)
        try await withSecureTransport({
            $0.trustEvaluation = own
            $0.tls.certificateVerification = .none
        }) { transport in
            _ = try await transport.fetch(request(try RealServers.url("NGINX_SELF_SIGNED", "/small")))
            #expect(own.seen.withLock { $0.first?.verifyResult } == 18)
        }
    }
}
