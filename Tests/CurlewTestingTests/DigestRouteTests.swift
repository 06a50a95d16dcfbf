import CurlewCore
import Foundation
import Testing

@testable import CurlewTesting

@Suite("TestServer: Digest authentication", .timeLimit(.minutes(4)))
struct DigestRouteTests {
    @Test func hashesAsTheStandardsSay() {
        #expect(Digest.hex(.md5, of: "abc") == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Digest.hex(.sha256, of: "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test(arguments: ["MD5", "SHA-256"], ["auth", "auth-int"])
    func verifiesTheResponse(algorithm: String, qop: String) throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let target = "/digest-auth/\(qop)/u/p/\(algorithm)"
        let challenge = try client.request("POST", target, body: "text").headers["WWW-Authenticate"] ?? ""
        let value = { (name: String) in
            TestServer.Request.parameter(name, of: ";" + challenge.dropFirst(7).replacing(",", with: ";")) ?? ""
        }
        #expect(value("algorithm") == algorithm)
        #expect(value("qop") == qop)

        func answer(password: String = "p", body: String = "text", nonce: String? = nil) throws -> WireClient.Response {
            let hash = { (text: String) in Digest.hex(algorithm == "MD5" ? .md5 : .sha256, of: text) }
            let nonce = nonce ?? value("nonce")
            let action = "POST:\(target)" + (qop == "auth-int" ? ":" + hash(body) : "")
            let secret = hash("u:\(value("realm")):\(password)")
            let response = hash("\(secret):\(nonce):00000001:c:\(qop):\(hash(action))")
            let field =
                "Authorization: Digest username=\"u\", realm=\"\(value("realm"))\", nonce=\"\(nonce)\", "
                + "uri=\"\(target)\", qop=\(qop), nc=00000001, cnonce=\"c\", response=\"\(response)\", "
                + "opaque=\"\(value("opaque"))\""
            return try client.request("POST", target, headers: [field], body: "text")
        }
        #expect(try answer().status == 200)
        #expect(try answer(password: "q").status == 401)
        #expect(try answer(body: "other").status == (qop == "auth-int" ? 401 : 200))
        let stale = try answer(nonce: "made-up")
        #expect(stale.headers["WWW-Authenticate"]?.contains("stale=true") == true)
    }
}
