import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Failures reported by GnuTLS")
struct GnuTLSFailureTests {
    /// Values of CURLINFO_SSL_VERIFYRESULT, as reported by libcurl 8.14 with GnuTLS 3.7, and their meaning.
    @Test(arguments: [
        (0x22, CurlewError.Code.certificateRevoked, "certificate revoked"),
        (0x202, .certificateExpired, "certificate is not yet valid"),
        (0x402, .certificateExpired, "certificate has expired"),
        (0x102, .certificateUntrusted, "certificate uses an insecure algorithm"),
    ])
    func verifyResultBitsDecideErrorCode(_ bits: Int, _ code: CurlewError.Code, _ words: String) throws {
        let verdict = try #require(GnuTLSFailure.verdict(bits))
        #expect(verdict.code == code)
        #expect(verdict.words == words)
        #expect(GnuTLSFailure.isRefused(bits))
        let text = "server verification failed: certificate error, no details available. (CAfile: a CRLfile: b)"
        #expect(
            GnuTLSFailure.text(text, bits) == "server verification failed: \(words). (CAfile: a CRLfile: b)")
    }

    @Test(arguments: [0, 0x2, 0x42]) func uninformativeVerifyResultBitsKeepTheText(_ bits: Int) {
        #expect(GnuTLSFailure.verdict(bits) == nil)
        #expect(GnuTLSFailure.text("as it is", bits) == "as it is")
    }

    @Test(arguments: [
        ("GnuTLS, handshake failed: CA is unknown", CurlewError.Code.clientCertificateRequired),
        ("GnuTLS, handshake failed: Certificate is required", .clientCertificateRequired),
        ("GnuTLS, handshake failed: Handshake failed", .tlsFailed),
        ("GnuTLS recv error (-12): A TLS fatal alert has been received.", .tlsFailed),
        ("Recv failure: Connection reset by peer", nil),
    ])
    func alertTextDecidesErrorCode(_ text: String, _ code: CurlewError.Code?) {
        #expect(TLSFailure.alert(text) == code)
    }
}
