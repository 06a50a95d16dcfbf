import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Tunnels through proxies")
struct TunnelOwnersTests {
    private func proxy(_ user: String?, _ url: String = "http://proxy.test:3128") throws -> Proxy {
        .url(try #require(URL(string: url)), username: user, password: user == nil ? nil : "secret")
    }

    @Test func belongToTheCredentialsThatCameFirst() throws {
        let owners = TunnelOwners(.none)
        #expect(owners.mayShare(try proxy("a")))
        #expect(!owners.mayShare(try proxy(nil)))
        #expect(!owners.mayShare(try proxy("b")))
        #expect(owners.mayShare(try proxy(nil, "http://a:secret@PROXY.test:3128")))
        #expect(owners.mayShare(try proxy("b", "http://other.test:3128")))
        // libcurl compares those of SOCKS itself.
        #expect(owners.mayShare(try proxy("b", "socks5://proxy.test:3128")))
        #expect(owners.mayShare(.none))
    }

    @Test func belongToTheTransportsOwn() throws {
        let owners = TunnelOwners(try proxy("a"))
        #expect(!owners.mayShare(try proxy(nil)))
        #expect(owners.mayShare(try proxy("a")))
    }

    @Test func areNotUsedWithOtherCredentials() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = try proxy("a")
        let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
        func connectsAlone(_ url: String, _ proxy: Proxy?) throws -> Bool {
            let wanted = request(try #require(URL(string: url))) { $0.options.proxy = proxy }
            let plan = try RequestPlan.of(wanted, planner: planner, bodyLength: nil)
            let texts = plan.settings.map(\.description)
            return texts.contains("FRESH_CONNECT=1") && texts.contains("FORBID_REUSE=1")
        }
        #expect(try connectsAlone("https://a.test/", proxy(nil)))
        #expect(try !connectsAlone("https://a.test/", proxy("a")))
        #expect(try !connectsAlone("https://a.test/", nil))
        // Such a request has its credentials with it.
        #expect(try !connectsAlone("http://a.test/", proxy(nil)))
    }
}
