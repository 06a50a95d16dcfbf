import CurlewAFNetworking
import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct ServerTrustTests {
    private let all: Certificates

    init() throws { all = try Certificates.made.get() }

    private func trust(
        _ chain: [Certificate]? = nil,
        host: String = "example.com",
        verifyResult: Int = 0
    ) -> ServerTrust {
        ServerTrust(
            host: host,
            certificateChain: (chain ?? [all.leaf, all.root]).map(\.data),
            verifyResult: verifyResult
        )
    }

    private func code(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) -> CurlewError.Code? {
        do {
            try evaluator.evaluate(trust, forHost: trust.host)
            return nil
        } catch {
            return (error as? CurlewError)?.code ?? .internal
        }
    }

    @Test func readsCertificates() throws {
        #expect(all.leaf.subject == "/O=Test/CN=leaf")
        #expect(all.leaf.issuer == "/CN=Root")
        #expect(all.leaf.names == ["example.com", "*.example.org", "127.0.0.1", "::1"])
        #expect(all.leaf.notValidBefore <= Date())
        #expect(all.leaf.notValidAfter.timeIntervalSinceNow > 29 * 86_400)
        #expect(all.leaf.publicKey.sha256.count == 32)
        #expect(all.leaf.publicKey.pin.hasPrefix("sha256//"))
        #expect(all.leaf.publicKey != all.root.publicKey)
        #expect(Certificate(data: Data("nonsense".utf8)) == nil)
        #expect(Certificate(data: all.leaf.data + Data([0])) == nil)
        #expect(Certificate.all(in: all.leaf.data) == [all.leaf])
    }

    @Test(arguments: [
        ("example.com", true), ("EXAMPLE.com", true), ("www.example.org", true), ("127.0.0.1", true), ("::1", true),
        ("[::1]", true), ("example.org", false), ("a.b.example.org", false), ("www.example.com", false),
        ("127.0.0.2", false), ("", false),
    ])
    func comparesHosts(host: String, isMadeOut: Bool) {
        let expected: CurlewError.Code? = isMadeOut ? nil : .certificateHostMismatch
        #expect(code(DefaultTrustEvaluator(), trust(host: host)) == expected)
        #expect(code(DefaultTrustEvaluator(validateHost: false), trust(host: host)) == nil)
    }

    @Test(arguments: [
        (10, CurlewError.Code.certificateExpired), (18, .certificateUntrusted), (23, .certificateRevoked),
    ])
    func evaluatorUsesTheVerifyResultOfLibcurl(result: Int, expected: CurlewError.Code) {
        #expect(code(DefaultTrustEvaluator(), trust(verifyResult: result)) == expected)
        #expect(code(DisabledTrustEvaluator(), trust(verifyResult: result)) == nil)
    }

    @Test func pinsCertificates() {
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: [all.leaf]), trust()) == nil)
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: [all.root]), trust()) == nil)
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: [all.stranger]), trust()) == .certificateUntrusted)
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: []), trust()) == .certificateUntrusted)
    }

    @Test func pinOfCertificateOutsideTheChainFails() {
        let padded = trust([all.leaf, all.root, all.stranger])
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: [all.stranger]), padded) == .certificateUntrusted)
        #expect(code(PublicKeysTrustEvaluator(keys: [all.stranger.publicKey]), padded) == .certificateUntrusted)
        #expect(padded.verifiedCertificates == [all.leaf, all.root])
    }

    @Test func pinnedRootDoesNotTrustLeafIssuedByServer() {
        let chain = trust([all.impostor, all.leaf, all.root], verifyResult: 24)
        #expect(chain.verifiedCertificates == [all.impostor])
        let keys = PublicKeysTrustEvaluator(keys: [all.root.publicKey], performDefaultValidation: false)
        #expect(code(keys, chain) == .certificateUntrusted)
        #expect(code(keys, trust(verifyResult: 24)) == nil)
        let certificates = PinnedCertificatesTrustEvaluator(certificates: [all.root], performDefaultValidation: false)
        #expect(code(certificates, chain) == .certificateUntrusted)
        #expect(code(certificates, trust(verifyResult: 24)) == nil)
        var policy = SecurityPolicy(pinning: .publicKey, certificates: [all.root])
        policy.allowInvalidCertificates = true
        #expect(code(policy, chain) == .certificateUntrusted)
        #expect(code(policy, trust(verifyResult: 24)) == nil)
    }

    @Test func pinnedCertificatesMayBeTheOnlyRoots() {
        func pinning(_ certificate: Certificate) -> PinnedCertificatesTrustEvaluator {
            PinnedCertificatesTrustEvaluator(certificates: [certificate], acceptSelfSignedCertificates: true)
        }
        let unknown = trust(verifyResult: 19)
        #expect(code(PinnedCertificatesTrustEvaluator(certificates: [all.root]), unknown) == .certificateUntrusted)
        #expect(code(pinning(all.root), unknown) == nil)
        #expect(code(pinning(all.leaf), trust([all.leaf], verifyResult: 20)) == nil)
        #expect(code(pinning(all.stranger), unknown) == .certificateUntrusted)
    }

    @Test func pinsPublicKeys() {
        #expect(code(PublicKeysTrustEvaluator(keys: [all.leaf.publicKey]), trust()) == nil)
        #expect(code(PublicKeysTrustEvaluator(pins: [all.root.publicKey.pin]), trust()) == nil)
        #expect(code(PublicKeysTrustEvaluator(pins: [all.stranger.publicKey.pin]), trust()) == .certificateUntrusted)
        #expect(code(PublicKeysTrustEvaluator(pins: ["nonsense"]), trust()) == .certificateUntrusted)
        let mismatch = trust(host: "other.com")
        #expect(code(PublicKeysTrustEvaluator(keys: [all.leaf.publicKey]), mismatch) == .certificateHostMismatch)
    }

    @Test func takesPinsWithoutTheirPrefix() {
        func bare(_ certificate: Certificate) -> String { certificate.publicKey.sha256.base64EncodedString() }
        #expect(code(PublicKeysTrustEvaluator(pins: [bare(all.leaf)]), trust()) == nil)
        #expect(code(PublicKeysTrustEvaluator(pins: [all.stranger.publicKey.pin, bare(all.root)]), trust()) == nil)
        #expect(code(PublicKeysTrustEvaluator(pins: [bare(all.stranger)]), trust()) == .certificateUntrusted)
    }

    @Test(arguments: [
        "nonsense", "", "sha256//", "sha256/" + Data(count: 32).base64EncodedString(), "sha256//AAAA",
        Data(count: 20).base64EncodedString(), "sha256//" + Data(count: 33).base64EncodedString(),
    ])
    func refusesEveryServerBecauseOfAMalformedPin(pin: String) {
        let good = all.leaf.publicKey.pin
        for pins in [[pin], [good, pin], [pin, good]] {
            let evaluator = PublicKeysTrustEvaluator(pins: pins)
            let error = #expect(throws: CurlewError.self) { try evaluator.evaluate(trust(), forHost: "example.com") }
            #expect(error?.code == .certificateUntrusted)
            #expect(error?.reason.contains("\"\(pin)\"") == true, "\(error?.reason ?? "")")
        }
        let none = PublicKeysTrustEvaluator(pins: [])
        #expect(code(none, trust()) == .certificateUntrusted)
    }

    @Test func refusesRevokedCertificates() {
        func verdict(_ lists: [Data], _ options: RevocationTrustEvaluator.Options = .any) -> CurlewError.Code? {
            code(RevocationTrustEvaluator(options: options, revocationLists: lists), trust())
        }
        #expect(verdict([]) == nil)
        #expect(verdict([all.emptyList], .requirePositiveResponse) == nil)
        #expect(verdict([all.emptyList, all.revokingList]) == .certificateRevoked)
        #expect(verdict([], .requirePositiveResponse) == .certificateRevoked)
        #expect(verdict([Data("nonsense".utf8)], .requirePositiveResponse) == .certificateRevoked)
        #expect(code(RevocationTrustEvaluator(), trust(host: "other.com")) == .certificateHostMismatch)
        #expect(
            code(RevocationTrustEvaluator(performDefaultValidation: false), trust(verifyResult: 23))
                == .certificateRevoked
        )
    }

    @Test func compositeNeedsEveryEvaluatorToPass() {
        let composite = CompositeTrustEvaluator(evaluators: [
            DefaultTrustEvaluator(), PublicKeysTrustEvaluator(keys: [all.stranger.publicKey]),
        ])
        #expect(code(composite, trust()) == .certificateUntrusted)
        #expect(code(CompositeTrustEvaluator(evaluators: []), trust()) == nil)
    }

    @Test func trustManagerChoosesEvaluatorByHost() throws {
        let strict = ServerTrustManager(evaluators: ["example.com": DisabledTrustEvaluator()])
        #expect(try strict.serverTrustEvaluator(forHost: "example.com") is DisabledTrustEvaluator)
        #expect(try strict.serverTrustEvaluator(forHost: "EXAMPLE.com") is DisabledTrustEvaluator)
        let error = #expect(throws: CurlewError.self) { try strict.serverTrustEvaluator(forHost: "other.com") }
        #expect(error?.code == .certificateUntrusted)
        let lenient = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(try lenient.serverTrustEvaluator(forHost: "other.com") == nil)
    }

    @Test func hostsWithoutEvaluatorUseTheSessionsVerification() {
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: ["own.com": DisabledTrustEvaluator()])
        func verdict(_ verification: CertificateVerification, _ trust: ServerTrust) -> CurlewError.Code? {
            do {
                try ManagedTrustEvaluation(manager: manager, verification: verification).evaluate(trust)
                return nil
            } catch {
                return (error as? CurlewError)?.code ?? .internal
            }
        }
        #expect(verdict(.full, trust()) == nil)
        #expect(verdict(.full, trust(host: "other.com")) == .certificateHostMismatch)
        #expect(verdict(.full, trust(verifyResult: 18)) == .certificateUntrusted)
        #expect(verdict(.noHostnameVerification, trust(host: "other.com")) == nil)
        #expect(verdict(.none, trust(host: "other.com", verifyResult: 18)) == nil)
        #expect(verdict(.full, trust(host: "own.com", verifyResult: 18)) == nil)
    }
}
