import Curlew
import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Testing

import class CurlewAlamofire.RevocationTrustEvaluator

/// Trust evaluators on every kind of connection. They see the chain before a byte of the request is sent.
@Suite(
    "Server trust at real servers", .realServers,
    .enabled(if: Capabilities.ofLibcurl.usesOpenSSL, "evaluators need OpenSSL"),
    .timeLimit(.minutes(4))
)
struct ServerTrustTests {
    /// An evaluator that records the server trust that it gets.
    private final class RecordingEvaluator: ServerTrustEvaluating {
        let seen = Lock<[ServerTrust]>([])

        func evaluate(_ trust: ServerTrust, forHost host: String) throws {
            seen.withLock { $0.append(trust) }
            try trust.performDefaultValidation()
        }

        var count: Int { seen.withLock { $0.count } }
    }

    private func session(
        _ evaluator: any ServerTrustEvaluating,
        _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> Session {
        try makeTrustingSession(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]), change)
    }

    enum Way: CaseIterable, Sendable { case http1, http2, tunnel, tlsProxy, socks }

    private func change(_ way: Way, _ configuration: inout SessionConfiguration) throws {
        switch way {
        case .http1: configuration.httpVersion = .http1_1
        case .http2: break
        case .tunnel: configuration.proxy = .url(try IntegrationEnvironment.url("PROXY"))
        case .tlsProxy: configuration.proxy = .url(try IntegrationEnvironment.url("HAPROXY_TLS_PROXY"))
        case .socks: configuration.proxy = .url(try IntegrationEnvironment.url("SOCKS"))
        }
    }

    @Test(arguments: Way.allCases)
    func evaluatorIsCalledOncePerConnection(way: Way) async throws {
        let evaluator = RecordingEvaluator()
        let session = try session(evaluator) { try change(way, &$0) }
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        for _ in 0..<3 { _ = try await session.request(url).data() }
        #expect(evaluator.count == 1)
        let trust = try #require(evaluator.seen.withLock { $0.first })
        #expect(trust.host == "localhost")
        let certificate = try #require(trust.certificates.first)
        #expect(certificate.names.contains("localhost"))
        #expect(certificate.subject.contains("localhost"))
        #expect(certificate.issuer.contains("Curlew Test CA"))
        #expect(certificate.notValidAfter > Date())
        await session.invalidate()
    }

    @Test(arguments: Way.allCases)
    func refusedServerReceivesNothing(way: Way) async throws {
        let wrong = PublicKeysTrustEvaluator(pins: ["sha256//" + Data(count: 32).base64EncodedString()])
        let session = try session(wrong) { try change(way, &$0) }
        let name = "refused-\(way)"
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/stored/\(name)")
        let response = await session.upload(Data("secret".utf8), to: url, method: .put).response()
        #expect(response.error?.code == .certificateUntrusted)
        #expect(response.error?.isSafeToRetry == true)
        let file = try IntegrationEnvironment.file("NGINX_STORED").appending(path: name)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        await session.invalidate()
    }

    @Test func oneOfSeveralPinsIsEnough() async throws {
        let certificates = Certificate.all(in: try Data(contentsOf: IntegrationEnvironment.file("GOOD_CERTIFICATE")))
        let pin = try #require(certificates.first).publicKey.pin
        let backup = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let pinned = try session(PublicKeysTrustEvaluator(pins: [backup, pin]))
        #expect(try await pinned.request(url).string().contains("protocol=HTTP/2.0"))
        // libcurl's pinning accepts the same notation.
        let native = try session(DefaultTrustEvaluator()) { $0.tls.publicKeyPins = [backup, pin] }
        #expect(try await native.request(url).string().contains("protocol=HTTP/2.0"))
        await pinned.invalidate()
        await native.invalidate()
    }

    @Test func evaluatorRefusesRevokedCertificate() async throws {
        let pem = try String(contentsOf: IntegrationEnvironment.file("CRL_FILE"), encoding: .utf8)
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let list = try #require(Data(base64Encoded: lines.joined()))
        let session = try session(RevocationTrustEvaluator(revocationLists: [list]))
        let good = await session.request(try IntegrationEnvironment.url("NGINX_STAPLED_GOOD", "/info")).response()
        #expect(good.head?.status == 200)
        // The server's chain contains the issuer, which signed the list.
        let revoked = await session.request(try IntegrationEnvironment.url("NGINX_STAPLED_REVOKED", "/info")).response()
        #expect(revoked.error?.code == .certificateRevoked)
        await session.invalidate()
    }
}
