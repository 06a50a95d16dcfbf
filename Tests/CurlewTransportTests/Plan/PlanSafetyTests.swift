import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

/// Values that a plan must never pass to libcurl.
@Suite("Safety of plans")
struct PlanSafetyTests {
    private func plan(
        _ configuration: TransportConfiguration = TransportConfiguration(),
        _ change: (inout TransferOptions) -> Void
    ) throws -> [String] {
        var request = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: "https://host/")))
        change(&request.options)
        return try RequestPlanner(configuration, RequestPlanTests.capabilities).plan(request, bodyLength: nil)
            .settings.map(\.description)
    }

    @Test(arguments: ["a\r\nX-Injected: 1", "a\nb", "a\0b"])
    func credentialsCannotForgeHeaders(_ text: String) {
        for (scheme, user, password) in [
            (TransferAuthentication.Scheme.bearer, "", text), (.digest, text, "p"), (.basic, "u", text),
            (.awsSigV4(provider: text), "u", "p"),
        ] {
            #expect {
                try plan {
                    $0.authentication = TransferAuthentication(scheme: scheme, username: user, password: password)
                }
            } throws: {
                CurlewError.Code.invalidHeader ~= $0 && !"\($0)".contains("Injected")
            }
        }
    }

    @Test func requestProxyGetsNoCredentialsOfSessionProxy() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .url(try #require(URL(string: "http://one")), username: "u", password: "p")
        let other = try #require(URL(string: "http://other"))
        let texts = try plan(configuration) { $0.proxy = .url(other) }
        let cleared = try #require(texts.firstIndex(of: "PROXYUSERNAME=NULL"))
        #expect(texts.contains("PROXYPASSWORD=NULL"))
        #expect(try #require(texts.lastIndex(of: "PROXY=\"http://other\"")) > cleared)
        // The environment's proxy replaces the session's.
        let environment = try plan(configuration) { $0.proxy = .environment }
        #expect(environment.last { $0.hasPrefix("PROXY=") } == "PROXY=NULL")
        #expect(environment.last { $0.hasPrefix("NOPROXY=") } == "NOPROXY=NULL")
    }

    @Test func requestProxyIsCheckedLikeSessionProxy() throws {
        let strange = try #require(URL(string: "ftp://u:secret@proxy"))
        #expect { try plan { $0.proxy = .url(strange) } } throws: {
            CurlewError.Code.proxyFailed ~= $0 && !"\($0)".contains("secret")
        }
        var guarded = TransportConfiguration()
        guarded.addressPolicy = .publicOnly
        guarded.proxy = .none
        let proxy = try #require(URL(string: "http://proxy"))
        #expect { try plan(guarded) { $0.proxy = .url(proxy) } } throws: { CurlewError.Code.addressRefused ~= $0 }
        #expect { try plan(guarded) { $0.proxy = .environment } } throws: { CurlewError.Code.addressRefused ~= $0 }
        #expect(try plan(guarded) { $0.proxy = Proxy.none }.contains("PROXY=\"\""))
    }

    @Test func settingWithNULOrLineBreakIsRefused() throws {
        let proxy = try #require(URL(string: "http://proxy"))
        let changes: [(inout TransportConfiguration) -> Void] = [
            { $0.unixSocketPath = "/run/safe\0/../other" }, { $0.interface = "eth0\0" },
            { $0.tls.cipherList = "A\0B" }, { $0.acceptedEncodings = ["gzip\r\nX-Injected: 1"] },
            { $0.proxy = .url(proxy, username: "u\r\nX: 1") },
        ]
        for change in changes {
            var configuration = TransportConfiguration()
            change(&configuration)
            #expect(throws: CurlewError.self) {
                try TransportPlan(
                    configuration,
                    TransportPlan.Environment(
                        capabilities: RequestPlanTests.capabilities, systemBundle: "/bundle.pem",
                        environmentNamesProxy: false))
            }
        }
    }
}
