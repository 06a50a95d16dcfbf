internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Credentials by protection space", .timeLimit(.minutes(4)))
struct CredentialStoreTests {
    private let ada = TransferAuthentication(username: "ada", password: "secret")

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func challenge(_ fields: String...) -> ResponseHead {
        ResponseHead(
            status: 401,
            headers: HTTPHeaders(received: fields.map { HTTPHeader(name: "WWW-Authenticate", value: $0) })
        )
    }

    @Test("a challenge is answered only with credentials of its origin and realm")
    func spaces() throws {
        var store = CredentialStore()
        let basic = challenge("Basic realm=\"one\"")
        #expect(store.answer(to: basic, for: try url("http://a.test/x")) == nil)
        store.accepted(ada, for: try url("http://a.test/x"), after: basic)
        #expect(store.answer(to: basic, for: try url("http://A.test:80/y"))?.username == "ada")
        for other in ["https://a.test/x", "http://a.test:8080/x", "http://b.a.test/x", "http://a.test.b/x"] {
            #expect(store.answer(to: basic, for: try url(other)) == nil, "\(other)")
        }
        #expect(store.answer(to: challenge("Basic realm=\"two\""), for: try url("http://a.test/x")) == nil)
        #expect(store.answer(to: challenge("Basic realm=\"ONE\""), for: try url("http://a.test/x")) == nil)
        #expect(store.answer(to: ResponseHead(status: 200), for: try url("http://a.test/x")) == nil)
    }

    @Test("a challenge is answered with its strongest scheme that uses a password")
    func schemes() throws {
        var store = CredentialStore()
        let both = challenge("Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\"")
        store.accepted(ada, for: try url("http://a.test/"), after: both)
        #expect(store.answer(to: both, for: try url("http://a.test/"))?.scheme == .digest)
        #expect(store.answer(to: challenge("Basic realm=\"r\""), for: try url("http://a.test/"))?.scheme == .basic)
        // A password cannot answer these challenges.
        #expect(store.answer(to: challenge("Bearer realm=\"r\""), for: try url("http://a.test/")) == nil)
        #expect(store.answer(to: challenge("Negotiate"), for: try url("http://a.test/")) == nil)
    }

    @Test(
        "a request in or below a folder of the protection space carries its credentials at once",
        arguments: [
            ("http://a.test/docs/a", true), ("http://a.test/docs/deeper/b?q", true), ("http://a.test/docs/", true),
            ("http://a.test/docs", false), ("http://a.test/other", false), ("http://a.test/", false),
            ("https://a.test/docs/a", false),
        ])
    func folders(text: String, isCarried: Bool) throws {
        var store = CredentialStore()
        store.accepted(ada, for: try url("http://a.test/docs/page"), after: challenge("Basic realm=\"r\""))
        #expect((store.expected(by: try url(text)) != nil) == isCarried)
    }

    @Test("the deepest folder decides between realms")
    func realms() throws {
        var store = CredentialStore()
        let bob = TransferAuthentication(username: "bob", password: "p")
        store.accepted(ada, for: try url("http://a.test/x"), after: challenge("Basic realm=\"outer\""))
        store.accepted(bob, for: try url("http://a.test/in/x"), after: challenge("Basic realm=\"inner\""))
        #expect(store.expected(by: try url("http://a.test/y"))?.username == "ada")
        #expect(store.expected(by: try url("http://a.test/in/y"))?.username == "bob")
    }

    @Test("credentials that a server refuses are removed, for this server only")
    func refusal() throws {
        var store = CredentialStore()
        let basic = challenge("Basic realm=\"r\"")
        store.accepted(ada, for: try url("http://a.test/"), after: basic)
        store.accepted(ada, for: try url("http://b.test/"), after: basic)
        store.refused(ada, for: try url("http://a.test/"))
        #expect(store.answer(to: basic, for: try url("http://a.test/")) == nil)
        #expect(store.answer(to: basic, for: try url("http://b.test/")) != nil)
    }

    @Test("the store is bounded, and keeps credentials that are in use")
    func bounds() throws {
        var store = CredentialStore()
        let basic = challenge("Basic realm=\"r\"")
        store.accepted(ada, for: try url("http://first.test/"), after: basic)
        for index in 0..<1000 {
            store.accepted(ada, for: try url("http://host\(index).test/"), after: basic)
            #expect(store.expected(by: try url("http://first.test/")) != nil)
        }
        #expect(store.expected(by: try url("http://host0.test/")) == nil)
        #expect(store.expected(by: try url("http://host999.test/")) != nil)
    }

    @Test("with only Basic allowed, no credentials for another scheme are returned")
    func onlyBasic() throws {
        var store = CredentialStore()
        let (page, other) = (try url("http://a.test/"), try url("http://b.test/"))
        let digest = "Digest realm=\"r\", nonce=\"n\""
        store.accepted(ada, for: page, after: challenge(digest))
        store.accepted(ada, for: other, after: challenge("Basic realm=\"r\""))
        #expect(store.expected(by: page)?.scheme == .digest)
        #expect(store.expected(by: page, onlyBasic: true) == nil)
        #expect(store.expected(by: other, onlyBasic: true)?.scheme == .basic)
        #expect(store.answer(to: challenge(digest), for: page, onlyBasic: true) == nil)
        #expect(store.answer(to: challenge(digest, "Basic realm=\"r\""), for: page, onlyBasic: true)?.scheme == .basic)
    }
}
