internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Descriptions of values with secrets", .timeLimit(.minutes(4)))
struct RedactedDescriptionTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// Returns the texts of all ways in which Swift may print a value.
    private static func printed(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    @Test("a value with a secret is described without the secret")
    func secrets() throws {
        let url = try #require(URL(string: "https://user:s3cret@a.example/x?token=s3cret#t=s3cret"))
        let values: [(Any, String)] = [
            (TransferAuthentication(username: "s3cret", password: "s3cret"), "redacted"),
            (Proxy.url(url, exclusions: ["b.example"]), "except b.example"),
            (Proxy.environment, "environment"),
            (Proxy.none, "none"),
            (ClientIdentity.pem(certificate: Data(), key: Data("s3cret".utf8), passphrase: "s3cret"), "PEM"),
            (
                ClientIdentity.files(
                    certificate: URL(filePath: "/c.pem"), key: URL(filePath: "/s3cret"), passphrase: "s3cret"), "/c.pem"
            ),
            (ClientIdentity.pkcs12(Data("s3cret".utf8), passphrase: "s3cret"), "PKCS#12"),
            (Cookie(name: "id", value: "s3cret", domain: "a.example", created: Self.now), "id="),
            (HTTPHeader(name: "Authorization", value: "Bearer s3cret"), "Authorization"),
            (RedirectHop(url: url, status: 302, location: url), "302"),
            (
                TransferRequest(
                    identifier: TaskIdentifier(rawValue: 1), url: url, method: .get,
                    headers: ["Authorization": "s3cret"], body: .data(Data("s3cret".utf8))), "GET https://a.example/x"
            ),
        ]
        for (value, expected) in values {
            let text = Self.printed(value)
            #expect(text.contains(expected))
            #expect(!text.contains("s3cret"), "\(type(of: value))")
        }
    }

    @Test("the DNS configuration is described without the credentials of its server")
    func nameResolution() {
        var dns = DNSConfiguration()
        dns.dohURL = URL(string: "https://user:s3cret@dns.example/query")
        dns.happyEyeballsDelay = .milliseconds(100)
        #expect(Self.printed(dns).contains("DoH https://dns.example/query"))
        #expect(Self.printed(dns).contains("happy eyeballs"))
        #expect(!Self.printed(dns).contains("s3cret"))
    }

    @Test("an untrusted server is described by its host, its certificates and the verify result")
    func untrusted() {
        let trust = ServerTrust(host: "a.example", certificateChain: [Data([1])], verifyResult: 18)
        let error = CurlewError(
            .certificateUntrusted, phase: .tls, reason: "self-signed", underlying: UntrustedServer(trust: trust))
        #expect(error.serverTrust == trust)
        #expect("\(UntrustedServer(trust: trust))" == "a.example showed 1 certificates, verify result 18")
        #expect(CurlewError(.tlsFailed, phase: .tls, reason: "other").serverTrust == nil)
    }
}
