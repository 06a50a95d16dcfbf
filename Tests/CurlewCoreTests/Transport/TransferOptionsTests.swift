import CurlewCore
import Foundation
import Testing

struct TransferOptionsTests {
    @Test func changedCopyDoesNotChangeTheOriginal() {
        let original = TransferOptions(maximumBodySize: 10)
        var copy = original
        copy.timeouts.idle = .seconds(7)
        copy.decodesContent = false
        #expect(original.timeouts.idle == Timeouts().idle)
        #expect(original.decodesContent)
        #expect(copy.maximumBodySize == 10)
        #expect(copy.timeouts.idle == .seconds(7))
    }

    @Test func defaultOptionsAreNotSharedByRequests() throws {
        let url = try #require(URL(string: "http://example.org/"))
        var changed = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: url)
        let other = TransferRequest(identifier: TaskIdentifier(rawValue: 2), url: url)
        changed.options.multiplexes = false
        #expect(other.options.multiplexes)
        #expect(TransferRequest(identifier: TaskIdentifier(rawValue: 3), url: url).options.multiplexes)
    }

    @Test func credentialsHaveShorthandPerScheme() {
        let token = TransferAuthentication.bearer(token: "t")
        #expect(token == TransferAuthentication(scheme: .bearer, username: "", password: "t"))
        let basic = TransferAuthentication.basic(username: "u", password: "p")
        #expect(basic == TransferAuthentication(scheme: .basic, username: "u", password: "p"))
        let digest = TransferAuthentication.digest(username: "u", password: "p")
        #expect(digest == TransferAuthentication(scheme: .digest, username: "u", password: "p"))
        let scheme = TransferAuthentication.Scheme.awsSigV4(provider: "aws:amz:eu-central-1:s3")
        let signed = TransferAuthentication.awsSigV4(
            accessKey: "k", secretKey: "s", provider: "aws:amz:eu-central-1:s3")
        #expect(signed == TransferAuthentication(scheme: scheme, username: "k", password: "s"))
    }

    @Test func hasAuthenticationFollowsCredentials() {
        var options = TransferOptions()
        #expect(!options.hasAuthentication)
        options.authentication = TransferAuthentication(username: "u", password: "p")
        #expect(options.hasAuthentication)
        options.authentication = nil
        #expect(!options.hasAuthentication)
    }
}
