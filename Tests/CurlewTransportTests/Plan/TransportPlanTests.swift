import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Transport plans")
struct TransportPlanTests {
    private func plan(
        _ change: (inout TransportConfiguration) -> Void = { _ in },
        version: Int = 0x075801,
        hasBundle: Bool = true,
        namesProxy: Bool = false,
        backend: String = "OpenSSL/3.0.15",
        hasHTTP3: Bool = false
    ) throws -> TransportPlan {
        var configuration = TransportConfiguration()
        change(&configuration)
        var capabilities = RequestPlanTests.capabilities
        capabilities.versionNumber = version
        capabilities.tlsBackend = backend
        if hasHTTP3 { capabilities.features.insert("HTTP3") }
        return try TransportPlan(
            configuration,
            TransportPlan.Environment(
                capabilities: capabilities, systemBundle: hasBundle ? "/bundle.pem" : nil,
                environmentNamesProxy: namesProxy))
    }

    private func texts(_ plan: TransportPlan) -> [String] { plan.options.map(\.description) }

    @Test func defaultConfigurationSetsListedOptions() throws {
        let plan = try plan()
        #expect(
            texts(plan) == [
                "NOSIGNAL=1", "PROTOCOLS_STR=\"http,https\"", "QUICK_EXIT=1", "SUPPRESS_CONNECT_HEADERS=1",
                "MAXAGE_CONN=118", "PROXY=\"\"", "NOPROXY=\"\"", "SSLVERSION=6",
                "PROXY_SSLVERSION=6", "CAPATH=NULL", "PROXY_CAPATH=NULL",
            ])
        #expect(plan.trust == .cachedBundle)
    }

    @Test func trustRootsAreCachedOnEveryLibcurl() throws {
        for version in [0x074000, 0x08_1500] {
            #expect(try plan(version: version).trust == .sharedStore(.file("/bundle.pem")))
            let pem = try plan({ $0.tls.trustRoots = .pem(Data([1])) }, version: version)
            #expect(pem.trust == .sharedStore(.pem(Data([1]))))
        }
        #expect(try plan(hasBundle: false).trust == .sharedStore(.defaultPaths))
        #expect(try plan { $0.tls.trustRoots = .pem(Data([1])) }.trust == .cachedPEM(Data([1])))
        #expect(try plan { $0.tls.certificateVerification = .none }.trust == .unused)
    }

    /// If libcurl does not verify, it loads no roots, and the evaluator needs a store with them.
    @Test(arguments: [
        (TrustRoots.pem(Data([1])), TrustStrategy.sharedStore(.pem(Data([1])))),
        (.file(URL(filePath: "/f")), .sharedStore(.file("/f"))),
        (.directory(URL(filePath: "/d", directoryHint: .notDirectory)), .sharedStore(.directory("/d"))),
        (.system, .sharedStore(.file("/bundle.pem"))),
    ])
    func evaluatorInPlaceOfLibcurlHasItsOwnStore(_ roots: TrustRoots, _ trust: TrustStrategy) throws {
        struct AcceptingEvaluation: TrustEvaluation {
            func evaluate(_ trust: ServerTrust) throws {}
        }
        let plan = try plan {
            $0.tls.trustRoots = roots
            $0.trustEvaluation = AcceptingEvaluation()
            $0.trustEvaluationReplacesVerification = true
        }
        #expect(plan.trust == trust)
    }

    @Test func revocationListIsAddedToTheUsedStore() throws {
        let list = URL(filePath: "/list.pem")
        let lists = { (version: Int) in
            self.texts(try self.plan({ $0.tls.certificateRevocationList = list }, version: version))
                .filter { $0.hasPrefix("CRLFILE") }
        }
        #expect(try lists(0x075801) == ["CRLFILE=\"/list.pem\""])
        // This version of libcurl gets a shared store, which contains the list.
        #expect(try lists(0x074000) == [])
        let changes: (inout TransportConfiguration) -> Void = {
            $0.tls.certificateRevocationList = list
            $0.tls.certificateVerification = .none
        }
        #expect { try plan(changes) } throws: { CurlewError.Code.unsupported ~= $0 }
    }

    @Test func tlsOptionsIgnoredByGnuTLSAreRefused() throws {
        let gnuTLS = "GnuTLS/3.7.9"
        let identities: [ClientIdentity] = [
            .pem(certificate: Data([1]), key: Data([2]), passphrase: nil), .pkcs12(Data([1]), passphrase: "p"),
        ]
        for identity in identities {
            #expect {
                try plan({ $0.tls.clientIdentity = identity }, backend: gnuTLS)
            } throws: {
                CurlewError.Code.unsupported ~= $0
            }
            _ = try plan { $0.tls.clientIdentity = identity }
        }
        for change: (inout TransportConfiguration) -> Void in [
            { $0.tls.cipherList = "ECDHE" }, { $0.tls.tls13CipherSuites = "TLS_AES_128_GCM_SHA256" },
        ] {
            #expect {
                try plan(change, backend: gnuTLS)
            } throws: {
                CurlewError.Code.unsupported ~= $0 && ($0 as? CurlewError)?.suggestion == CurlewError.lacksFeature
            }
        }
        let file = URL(filePath: "/identity.pem")
        _ = try plan({ $0.tls.clientIdentity = .files(certificate: file, key: file, passphrase: nil) }, backend: gnuTLS)
    }

    /// Over QUIC, libcurl before 8.18 with GnuTLS does not check the server's chain if names are not to be checked.
    @Test func http3WithoutNameCheckIsRefusedForGnuTLS() throws {
        func isRefused(_ version: Int, _ backend: String, _ change: (inout TransportConfiguration) -> Void) -> Bool {
            do {
                _ = try plan(
                    {
                        $0.httpVersion = .http3
                        change(&$0)
                    }, version: version, backend: backend, hasHTTP3: true)
                return false
            } catch {
                return CurlewError.Code.unsupported ~= error
            }
        }
        let withoutNames: (inout TransportConfiguration) -> Void = {
            $0.tls.certificateVerification = .noHostnameVerification
        }
        let pinsAlone: (inout TransportConfiguration) -> Void = {
            $0.tls.certificateVerification = .none
            $0.tls.publicKeyPins = [Data(count: 32).base64EncodedString()]
        }
        for change in [withoutNames, pinsAlone] {
            #expect(isRefused(0x08_0e01, "GnuTLS/3.7.9", change))
            #expect(!isRefused(0x08_1200, "GnuTLS/3.7.9", change))
            #expect(!isRefused(0x08_0e01, "OpenSSL/3.5.0", change))
            #expect(
                !isRefused(0x08_0e01, "GnuTLS/3.7.9") { configuration in
                    change(&configuration)
                    configuration.httpVersion = .automatic
                })
        }
        #expect(!isRefused(0x08_0e01, "GnuTLS/3.7.9") { _ in })
        #expect(!isRefused(0x08_0e01, "GnuTLS/3.7.9") { $0.tls.certificateVerification = .none })
    }

    @Test func proxySettingsBecomeOptions() throws {
        let url = try #require(URL(string: "socks5h://p:1080"))
        let named = try plan { $0.proxy = .url(url, username: "u", exclusions: ["a", ".b"]) }
        #expect(texts(named).contains("PROXY=\"socks5h://p:1080\""))
        // Exclusions are decided for each request, so libcurl gets an empty list.
        #expect(texts(named).contains("NOPROXY=\"\""))
        #expect(!texts(try plan(namesProxy: true)).contains { $0.hasPrefix("PROXY=") })
        let strange = try #require(URL(string: "ftp://p"))
        #expect(throws: CurlewError.self) { try plan { $0.proxy = .url(strange) } }
    }

    @Test func addressPolicyIsRefusedBehindAProxy() {
        #expect { try plan({ $0.addressPolicy = .publicOnly }, namesProxy: true) } throws: {
            CurlewError.Code.addressRefused ~= $0
        }
    }

    @Test func missingFeaturesAreUnsupported() {
        let changes: [(inout TransportConfiguration) -> Void] = [
            { $0.httpVersion = .http3 }, { $0.dns.servers = ["1.1.1.1"] },
            {
                $0.interface = "eth0"
                $0.localAddress = "1.2.3.4"
            },
        ]
        for change in changes {
            #expect { try plan(change) } throws: {
                CurlewError.Code.unsupported ~= $0 && ($0 as? CurlewError)?.suggestion == CurlewError.lacksFeature
            }
        }
    }

    @Test func anotherLibcurlIsSuggestedOnlyIfItHelps() throws {
        func suggestion(_ version: Int, _ change: (inout TransportConfiguration) -> Void) throws -> String? {
            let error = #expect(throws: CurlewError.self) {
                try plan(
                    {
                        $0.httpVersion = .http3
                        change(&$0)
                    }, version: version, hasHTTP3: true)
            }
            return try #require(error).suggestion
        }
        #expect(try suggestion(0x07_5700) { _ in } == CurlewError.lacksFeature)
        #expect(try suggestion(0x08_0e01) { $0.tls.usesALPN = false } == nil)
    }

    @Test(arguments: [
        (6, 256, 1, 6, 256, false), (5000, 5000, 20, 250, 250, true), (64, 4096, 5, 64, 819, false),
        (257, 1000, 4, 65, 250, true), (256, 2000, 2, 256, 1000, false),
        (0, 0, 1, 1, 1, false), (4096, 256, 1, 4096, 256, false),
    ])
    func limitsAreDivided(_ host: Int, _ total: Int, _ multis: Int, _ perHost: Int, _ perMulti: Int, _ splits: Bool) {
        let limits = ConnectionLimits(maximumPerHost: host, maximumTotal: total)
        #expect(limits.multis == multis && limits.perHost == perHost)
        #expect(limits.total == perMulti && limits.splitsHosts == splits)
    }

    @Test func pinsReachLibcurlWithTheirPrefix() throws {
        let digest = Data(count: 32).base64EncodedString()
        let plan = try plan({ $0.tls.publicKeyPins = [digest, "sha256//" + digest] })
        #expect(texts(plan).contains("PINNEDPUBLICKEY=\"sha256//\(digest);sha256//\(digest)\""))
    }

    @Test(arguments: ["", "sha256//", "sha256//AAAA", "sha1//" + Data(count: 32).base64EncodedString(), "/etc/key.pem"])
    func malformedPinsAreNamed(_ pin: String) {
        let right = Data(count: 32).base64EncodedString()
        let error = #expect(throws: CurlewError.self) { try plan({ $0.tls.publicKeyPins = [right, pin] }) }
        #expect(error?.code == .requestCreationFailed)
        #expect(error?.reason.contains("\"\(pin)\"") == true)
    }
}
