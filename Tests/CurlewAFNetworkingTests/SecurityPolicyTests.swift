import CurlewAFNetworking
import CurlewTesting
import Foundation
import Testing

@Suite("AFNetworking's security policy", .timeLimit(.minutes(4)))
struct SecurityPolicyTests {
    private static let untrusted = 20

    private struct Row: Sendable, CustomTestStringConvertible {
        var mode: SecurityPolicy.PinningMode = .none
        var pin = "root"
        var allowsInvalid = false
        var validatesName = true
        var host = "example.com"
        var systemTrusts = true
        var isTrusted: Bool

        var testDescription: String { "\(self)" }
    }

    private static let rows = [
        Row(isTrusted: true),
        Row(host: "other.com", isTrusted: false),
        Row(validatesName: false, host: "other.com", isTrusted: true),
        Row(systemTrusts: false, isTrusted: false),
        Row(allowsInvalid: true, validatesName: false, host: "other.com", systemTrusts: false, isTrusted: true),
        // Any certificate with the right name would be accepted, which proves nothing.
        Row(allowsInvalid: true, systemTrusts: false, isTrusted: false),
        Row(mode: .publicKey, pin: "none", allowsInvalid: true, systemTrusts: false, isTrusted: false),
        // Pinned certificates.
        Row(mode: .certificate, isTrusted: true),
        Row(mode: .certificate, pin: "leaf", isTrusted: true),
        Row(mode: .certificate, pin: "stranger", isTrusted: false),
        Row(mode: .certificate, pin: "none", isTrusted: false),
        Row(mode: .certificate, systemTrusts: false, isTrusted: false),
        Row(mode: .certificate, allowsInvalid: true, systemTrusts: false, isTrusted: true),
        Row(mode: .certificate, allowsInvalid: true, host: "other.com", systemTrusts: false, isTrusted: false),
        Row(mode: .certificate, validatesName: false, host: "other.com", isTrusted: true),
        Row(mode: .certificate, pin: "stranger", allowsInvalid: true, systemTrusts: false, isTrusted: false),
        // Pinned keys.
        Row(mode: .publicKey, isTrusted: true),
        Row(mode: .publicKey, pin: "leaf", isTrusted: true),
        Row(mode: .publicKey, pin: "stranger", isTrusted: false),
        Row(mode: .publicKey, systemTrusts: false, isTrusted: false),
        Row(mode: .publicKey, pin: "leaf", allowsInvalid: true, systemTrusts: false, isTrusted: true),
        Row(mode: .publicKey, allowsInvalid: true, host: "other.com", systemTrusts: false, isTrusted: false),
    ]

    @Test("the pinning mode and the flags decide whether a certificate chain is trusted", arguments: rows)
    private func verdict(row: Row) throws {
        let all = try Certificates.made.get()
        let pins = ["root": [all.root], "leaf": [all.leaf], "stranger": [all.stranger]][row.pin] ?? []
        var policy = SecurityPolicy(pinning: row.mode, certificates: pins)
        policy.allowInvalidCertificates = row.allowsInvalid
        policy.validatesDomainName = row.validatesName
        let trust = ServerTrust(
            host: row.host,
            certificateChain: [all.leaf, all.root].map(\.data),
            verifyResult: row.systemTrusts ? 0 : Self.untrusted
        )
        let manager = policy.serverTrustManager
        let evaluator = try #require(try manager.serverTrustEvaluator(forHost: row.host))
        if row.isTrusted {
            try evaluator.evaluate(trust, forHost: row.host)
        } else {
            #expect(throws: (any Error).self) { try evaluator.evaluate(trust, forHost: row.host) }
        }
    }

    @Test("a pinned issuer is trusted even if the server does not send it")
    func anchorNotSent() throws {
        let all = try Certificates.made.get()
        let trust = ServerTrust(host: "example.com", certificateChain: [all.leaf.data], verifyResult: 0)
        try SecurityPolicy(pinning: .certificate, certificates: [all.root]).evaluate(trust, forHost: "example.com")
    }

    @Test("a manager refuses a server that is not pinned", .enabled(if: Capabilities.current.usesOpenSSL))
    func managerRefusesAStranger() async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        let server = try TestServer(configuration)
        guard case .pem(let pem) = server.trustRoots else { throw CocoaError(.fileReadUnknown) }
        let stranger = try Certificates.made.get().stranger
        func code(_ pins: [Certificate]) async throws -> CurlewError.Code? {
            let client = HTTPSessionManager(
                baseURL: server.url("/"),
                configuration: SessionConfiguration {
                    $0.proxy = .none
                    $0.tls.trustRoots = server.trustRoots
                },
                securityPolicy: SecurityPolicy(pinning: .publicKey, certificates: pins)
            )
            let code = await client.request(.get, "status/200").response().error?.code
            await client.invalidate()
            return code
        }
        #expect(try await code([stranger]) == .certificateUntrusted)
        #expect(server.requests.isEmpty)
        #expect(try await code(Certificate.all(in: pem)) == nil)
    }

    @Test("certificates are read from a directory")
    func directory() throws {
        let all = try Certificates.made.get()
        let scratch = try ScratchDirectory()
        try all.root.data.write(to: scratch.file("root.cer"))
        let pem = "-----BEGIN CERTIFICATE-----\n\(all.leaf.data.base64EncodedString())\n-----END CERTIFICATE-----\n"
        try Data(pem.utf8).write(to: scratch.file("leaf.pem"))
        try Data("notes".utf8).write(to: scratch.file("readme.txt"))
        #expect(try SecurityPolicy.certificates(in: scratch.url) == [all.root, all.leaf])
    }
}
