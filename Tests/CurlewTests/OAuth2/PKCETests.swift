import Curlew
import Foundation
import Testing

@Suite("PKCE")
struct PKCETests {
    /// RFC 7636, appendix B.
    @Test func challengeEqualsTheExampleInRFC7636() throws {
        let pkce = try PKCE(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(PKCE.method == "S256")
    }

    @Test func verifiersAreRandom() throws {
        let all = try (0..<100).map { _ in try PKCE() }
        #expect(Set(all.map(\.verifier)).count == 100)
        for pkce in all {
            #expect(pkce.verifier.utf8.count == 43 && pkce.challenge.utf8.count == 43)
            #expect(try PKCE(verifier: pkce.verifier) == pkce)
        }
    }

    @Test(arguments: [
        "", String(repeating: "a", count: 42), String(repeating: "a", count: 129),
        String(repeating: "a", count: 42) + "+", String(repeating: "a", count: 42) + "ä",
    ])
    func invalidVerifierIsRefused(_ text: String) {
        #expect { try PKCE(verifier: text) } throws: { CurlewError.Code.requestCreationFailed ~= $0 }
    }

    @Test func descriptionsOmitTheVerifier() throws {
        let pkce = try PKCE()
        var dumped = ""
        dump(pkce, to: &dumped)
        for text in ["\(pkce)", String(reflecting: pkce), dumped] { #expect(!text.contains(pkce.verifier)) }
    }
}
