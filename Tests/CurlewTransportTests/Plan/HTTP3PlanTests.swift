import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Plans of HTTP/3")
struct HTTP3PlanTests {
    /// libcurl 8.14 with ngtcp2 and GnuTLS, unless the arguments name other libraries.
    static func capabilities(tls: String = "GnuTLS/3.8.9", quic: String = "ngtcp2/1.11.0 nghttp3/1.8.0") -> Capabilities
    {
        var capabilities = RequestPlanTests.capabilities
        capabilities.versionNumber = 0x08_0E01
        capabilities.features.insert("HTTP3")
        capabilities.tlsBackend = tls
        capabilities.http3Library = quic
        return capabilities
    }

    private struct RefusingEvaluation: TrustEvaluation {
        func evaluate(_ trust: ServerTrust) throws {}
    }

    private func obstacle(
        _ capabilities: Capabilities = Self.capabilities(),
        namesProxy: Bool = false,
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) -> HTTP3Plan.Obstacle? {
        var configuration = TransportConfiguration()
        change(&configuration)
        let environment = TransportPlan.Environment(
            capabilities: capabilities, systemBundle: nil, environmentNamesProxy: namesProxy)
        return HTTP3Plan.obstacle(configuration, environment)
    }

    @Test func http3HasNoObstacleByDefault() {
        #expect(obstacle() == nil)
        #expect(obstacle(Self.capabilities(tls: "quictls/3.1.4")) == nil)
        #expect(obstacle { $0.tls.publicKeyPins = [Data(count: 32).base64EncodedString()] } == nil)
    }

    @Test func libcurlWithoutHTTP3IsAnObstacle() {
        #expect(obstacle(RequestPlanTests.capabilities)?.feature == "HTTP/3")
        var old = Self.capabilities()
        old.versionNumber = 0x07_5700
        #expect(obstacle(old)?.feature == "HTTP/3")
    }

    @Test func openSSLsQUICNeedsExperimentalHTTP3() {
        let capabilities = Self.capabilities(tls: "OpenSSL/3.5.1", quic: "nghttp3/1.8.0")
        #expect(obstacle(capabilities)?.feature == "HTTP/3 over OpenSSL's QUIC")
        #expect(obstacle(capabilities) { $0.allowsExperimentalHTTP3 = true } == nil)
        // OpenSSL below ngtcp2 is no obstacle.
        #expect(obstacle(Self.capabilities(tls: "OpenSSL/3.5.1")) == nil)
    }

    @Test(
        arguments: [
            { $0.proxy = .url(URL(string: "http://p:1") ?? URL(filePath: "/")) }, { $0.unixSocketPath = "/s" },
            { $0.trustEvaluation = RefusingEvaluation() },
            { $0.tls.usesALPN = false }, { $0.tls.maximumVersion = .v1_2 }, { $0.tls.cipherList = "ALL" },
            { $0.tls.tls13CipherSuites = "X" }, { $0.tls.certificateVerification = .noHostnameVerification },
            {
                $0.tls.certificateVerification = .none
                $0.tls.publicKeyPins = [Data(count: 32).base64EncodedString()]
            },
        ] as [@Sendable (inout TransportConfiguration) -> Void])
    func optionsIgnoredByQUICAreAnObstacle(_ change: @Sendable (inout TransportConfiguration) -> Void) throws {
        #expect(obstacle(change) != nil)
        var configuration = TransportConfiguration()
        configuration.httpVersion = .http3
        change(&configuration)
        let environment = TransportPlan.Environment(
            capabilities: Self.capabilities(), systemBundle: nil, environmentNamesProxy: false)
        #expect { try TransportPlan(configuration, environment) } throws: { CurlewError.Code.unsupported ~= $0 }
        // With `automatic`, the transport does not use HTTP/3.
        configuration.httpVersion = .automatic
        configuration.alternativeServices = Alternatives()
        #expect(HTTP3Plan.alternatives(configuration, environment) == nil)
    }

    private func obstacle(_ change: (inout TransportConfiguration) -> Void) -> HTTP3Plan.Obstacle? {
        obstacle(Self.capabilities(), change)
    }

    @Test func http3WithoutNameCheckIsPossibleFrom818() {
        var capabilities = Self.capabilities()
        capabilities.versionNumber = 0x08_1200
        #expect(obstacle(capabilities) { $0.tls.certificateVerification = .noHostnameVerification } == nil)
    }

    @Test func environmentProxyIsAnObstacleForHTTP3() {
        #expect(obstacle(namesProxy: true) != nil)
        #expect(obstacle(namesProxy: true) { $0.proxy = .none } == nil)
    }

    // MARK: Requests

    private final class Alternatives: AlternativeServices {
        let isEmpty = false
        let host: String?
        let port: Int
        let mode: AlternativeRoute.Mode
        struct Question: Equatable {
            let freedom: AlternativeFreedom
            var mayTry = true
        }
        let asked = Lock([Question]())
        let ends = Lock([AlternativeEnd]())

        init(host: String? = nil, port: Int = 443, mode: AlternativeRoute.Mode = .raced) {
            self.host = host
            self.port = port
            self.mode = mode
        }

        func route(
            to origin: SecureOrigin, allowing freedom: AlternativeFreedom, mayTry: Bool
        ) -> AlternativeRoute? {
            asked.withLock { $0.append(Question(freedom: freedom, mayTry: mayTry)) }
            return AlternativeRoute(origin: origin, host: host, port: port, mode: mode)
        }

        func receive(_ headers: HTTPHeaders, from origin: SecureOrigin) {}
        func ended(_ route: AlternativeRoute, _ end: AlternativeEnd) { ends.withLock { $0.append(end) } }
    }

    private func plan(
        _ url: String = "https://Host/path",
        _ alternatives: Alternatives = Alternatives(),
        for goal: RequestPlan.Goal = .exchange,
        capabilities: Capabilities = Self.capabilities(),
        configure: (inout TransportConfiguration) -> Void = { _ in },
        _ change: (inout TransferRequest) -> Void = { _ in }
    ) throws -> RequestPlan {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.alternativeServices = alternatives
        configure(&configuration)
        var request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: url)))
        change(&request)
        return try RequestPlanner(configuration, capabilities).plan(request, for: goal, bodyLength: nil)
    }

    private func texts(_ plan: RequestPlan) -> [String] { plan.settings.map(\.description) }

    @Test func http3TrialIsRacedOnNewConnection() throws {
        let plan = try plan()
        #expect(texts(plan).suffix(2) == ["HTTP_VERSION=30", "FRESH_CONNECT=1"])
        #expect(plan.headerLines == ["Alt-Used: host:443"])
    }

    @Test func provenHTTP3RouteIsUsedWithoutFallback() throws {
        let plan = try plan("https://host/", Alternatives(mode: .alone))
        #expect(texts(plan).suffix(2) == ["HTTP_VERSION=31", "CONNECTTIMEOUT_MS=3000"])
    }

    @Test func alternativeHostIsConnectedInOriginsName() throws {
        let plan = try plan("https://host/", Alternatives(host: "::1", port: 8443, mode: .alone)) {
            $0.dns.overrides = ["host": ["192.0.2.1"]]
        } _: {
            $0.options.timeouts.connect = .seconds(2)
        }
        #expect(
            texts(plan).suffix(3) == ["HTTP_VERSION=31", "CONNECTTIMEOUT_MS=1000", "CONNECT_TO=[::[::1]:8443]"])
        let overridden = try self.plan("https://host/", Alternatives(port: 8443, mode: .alone)) {
            $0.dns.overrides = ["host": ["192.0.2.1"]]
        }
        #expect(texts(overridden).last == "RESOLVE=[host:8443:192.0.2.1]")
    }

    @Test func planWithoutItsRouteEqualsUsualPlan() throws {
        var plan = try plan("https://host/") { _ in
        } _: {
            $0.headers = ["X-Own": "1"]
        }
        plan.leaveRoute()
        var capabilities = RequestPlanTests.capabilities
        capabilities.versionNumber = Self.capabilities().versionNumber
        let usual = try self.plan("https://host/", capabilities: capabilities) { _ in
        } _: {
            $0.headers = ["X-Own": "1"]
        }
        #expect(usual.route == nil)
        #expect(texts(plan) == texts(usual) && plan.headerLines == ["X-Own: 1"])
    }

    @Test(
        arguments: [
            { $0.options.multiplexes = false }, { $0.options.trafficClass = .background },
            { $0.options.proxy = .url(URL(string: "http://p:1") ?? URL(filePath: "/")) },
            { $0.options.proxy = .environment },
            { $0.options.authentication = TransferAuthentication(username: "u", password: "p") },
            { $0.options.authentication = TransferAuthentication(scheme: .ntlm, username: "u", password: "p") },
            { $0.url = URL(string: "http://host/") ?? $0.url },
        ] as [@Sendable (inout TransferRequest) -> Void])
    func requestThatNeedsTCPGetsNoHTTP3Route(_ change: @Sendable (inout TransferRequest) -> Void) throws {
        #expect(try plan(change).route == nil)
    }

    private func plan(_ change: (inout TransferRequest) -> Void) throws -> RequestPlan {
        try plan("https://host/", Alternatives(), configure: { _ in }, change)
    }

    /// libcurl before 8.18 reads from QUIC while a transfer is paused, so with a slow reader it would buffer the whole
    /// body.
    @Test(arguments: [TransferPurpose.file, .stream])
    func pausableTransferNeedsLibcurlWithBackPressure(_ purpose: TransferPurpose) throws {
        #expect(try plan { $0.options.purpose = purpose }.route == nil)
        var later = Self.capabilities()
        later.versionNumber = 0x08_1200
        let plan = try plan("https://host/", Alternatives(), capabilities: later, configure: { _ in }) {
            $0.options.purpose = purpose
        }
        #expect(plan.route != nil)
    }

    @Test func onlyAutomaticHTTPVersionAsksForRoute() throws {
        for version in [HTTPVersionPolicy.http2, .http1_1, .http3] {
            #expect(try plan(configure: { $0.httpVersion = version }).route == nil)
        }
        #expect(try plan(configure: { $0.tls.connectTo = ["a:1": "b:2"] }).route == nil)
    }

    @Test func anotherHostNeedsFullVerification() throws {
        let alternatives = Alternatives()
        _ = try plan("https://host/", alternatives)
        _ = try plan("https://host/", alternatives, configure: { $0.tls.certificateVerification = .none })
        #expect(alternatives.asked.withLock { $0 } == [.init(freedom: .anyHost), .init(freedom: .sameHost)])
    }

    @Test func resolverLimitsAlternativesToTheOrigin() throws {
        let alternatives = Alternatives()
        let plan = try plan("https://host/", alternatives, configure: { $0.dns.resolver = { _, _ in throw Refused() } })
        #expect(plan.route != nil && plan.question != nil)
        #expect(alternatives.asked.withLock { $0 } == [.init(freedom: .sameEndpoint)])
    }

    private struct Refused: Error {}

    // MARK: Trials

    /// A route that was asked for and not used would stay a trial whose result is never reported.
    @Test func failedPlanAsksForNoRoute() throws {
        let alternatives = Alternatives()
        let resolver: DNSResolver.Resolve = { _, _ in throw Refused() }
        #expect(throws: CurlewError.self) {
            try plan("https://*/", alternatives, configure: { $0.dns.resolver = resolver })
        }
        #expect(throws: CurlewError.self) {
            try plan("https://host/", alternatives, for: .prewarming(opensNew: false)) { _ in
            } _: {
                $0.options.authentication = TransferAuthentication(scheme: .ntlm, username: "u", password: "p")
            }
        }
        #expect(alternatives.asked.withLock { $0 }.isEmpty)
    }

    @Test func connectionWithoutRequestTriesNoAlternative() throws {
        let alternatives = Alternatives(mode: .alone)
        let prewarmed = try plan("https://host/", alternatives, for: .prewarming(opensNew: true))
        #expect(texts(prewarmed).contains("FRESH_CONNECT=1") && texts(prewarmed).contains("HTTP_VERSION=31"))
        #expect(alternatives.asked.withLock { $0 } == [.init(freedom: .anyHost, mayTry: false)])
        let bytes = try plan("https://host/", alternatives, for: .byteConnection(sendBuffer: 1))
        #expect(bytes.route == nil && alternatives.asked.withLock { $0 }.count == 1)
    }

    @Test func aTrialOnAnEndedTransportIsUndecided() async throws {
        var capabilities = Capabilities.ofLibcurl
        capabilities.versionNumber = Self.capabilities().versionNumber
        capabilities.features.insert("HTTP3")
        capabilities.http3Library = Self.capabilities().http3Library
        let alternatives = Alternatives()
        var configuration = TransportConfiguration()
        (configuration.proxy, configuration.alternativeServices) = (.none, alternatives)
        let transport = CurlTransport(configuration: configuration, capabilities: capabilities)
        await transport.shutdown()
        let error = await transport.failure(request(try #require(URL(string: "https://host/"))))
        #expect(error.code == .sessionClosed, "\(error)")
        #expect(alternatives.asked.withLock { $0 }.count == 1 && alternatives.ends.withLock { $0 } == [.undecided])
    }

    @Test func http3PolicyHasNoFallback() throws {
        let only = try plan(configure: { $0.httpVersion = .http3 })
        #expect(texts(only)[0] == "HTTP_VERSION=31")
        let single = try plan(configure: { $0.httpVersion = .http3 }) { $0.options.multiplexes = false }
        #expect(texts(single)[0...2] == ["HTTP_VERSION=31", "FRESH_CONNECT=1", "FORBID_REUSE=1"])
        #expect { try plan("http://host/", configure: { $0.httpVersion = .http3 }) } throws: {
            CurlewError.Code.unsupported ~= $0
        }
        let proxy = try #require(URL(string: "http://proxy:1"))
        #expect { try plan(configure: { $0.httpVersion = .http3 }) { $0.options.proxy = .url(proxy) } } throws: {
            CurlewError.Code.unsupported ~= $0
        }
    }
}
