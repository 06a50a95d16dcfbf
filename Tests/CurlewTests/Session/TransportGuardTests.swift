import Curlew
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// The transport that carries requests must enforce the settings that protect them.
@Suite("Guards that a transport enforces", .timeLimit(.minutes(4)))
struct TransportGuardTests {
    /// A transport as users write one, with `perform` only.
    private struct Own: Transport {
        let other: any Transport

        func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
            try await other.perform(request, sink: sink)
        }
    }

    private static let changes: [@Sendable (inout SessionConfiguration) -> Void] = [
        { $0.addressPolicy = .publicOnly }, { $0.tls.minimumVersion = .v1_3 },
        { $0.tls.publicKeyPins = ["sha256//AAAA"] },
        { $0.proxy = .url(URL(filePath: "/")) }, { $0.proxyRouting = { _ in nil } }, { $0.interface = "tun0" },
        { $0.unixSocketPath = "/run/x" },
    ]

    private let answering = MockTransport { _ in .text("x") }

    private func code(_ session: Session) async -> CurlewError.Code? {
        await session.request("https://example.org/").response().error?.code
    }

    @Test(arguments: changes.indices)
    func transportThatDoesNotEnforceGuardsSendsNothing(_ index: Int) async {
        let configuration = SessionConfiguration(Self.changes[index])
        for transport in [Own(other: answering) as any Transport, RecordingTransport(Own(other: answering))] {
            #expect(await code(Session(configuration: configuration, transport: transport)) == .unsupported)
        }
        #expect(answering.requests.isEmpty)
        for transport in [answering as any Transport, RecordingTransport(answering)] {
            #expect(await code(Session(configuration: configuration, transport: transport)) == nil)
        }
    }

    @Test func everyTransportIsAcceptedWithoutGuards() async {
        #expect(await code(Session(transport: Own(other: answering))) == nil)
        let direct = SessionConfiguration {
            $0.proxy = .none
            $0.timeouts.idle = .seconds(5)
        }
        #expect(await code(Session(configuration: direct, transport: Own(other: answering))) == nil)
    }

    @Test func transportOfAnotherConfigurationIsRefused() async throws {
        let server = try TestServer()
        let configuration = SessionConfiguration {
            $0.proxy = .none
            $0.tls.minimumVersion = .v1_3
        }
        let right = Session(configuration: configuration, transport: configuration.makeTransport())
        #expect(await right.request(server.url("/get")).response().error == nil)
        let wrong = Session(configuration: configuration, transport: SessionConfiguration.default.makeTransport())
        let error = await wrong.request(server.url("/get")).response().error
        #expect(error?.code == .unsupported)
        #expect(error?.reason.contains("tls") == true)
        await right.invalidate()
        await wrong.invalidate()
        server.stop()
    }

    @Test func transportWithoutTheTrustManagerIsRefused() async throws {
        let server = try TestServer()
        let manager = ServerTrustManager(evaluators: ["example.org": DefaultTrustEvaluator()])
        let other = ServerTrustManager(evaluators: ["example.org": DisabledTrustEvaluator()])
        let configuration = SessionConfiguration { $0.proxy = .none }
        let transports: [(any Transport, CurlewError.Code?)] = [
            (
                configuration.makeTransport(serverTrustManager: manager),
                Capabilities.current.usesOpenSSL ? nil : .unsupported
            ),
            (configuration.makeTransport(serverTrustManager: other), .unsupported),
            (configuration.makeTransport(), .unsupported), (Own(other: answering), .unsupported),
        ]
        for (transport, expected) in transports {
            let session = Session(configuration: configuration, transport: transport, serverTrustManager: manager)
            #expect(await session.request(server.url("/get")).response().error?.code == expected)
            await session.invalidate()
        }
        server.stop()
    }

    @Test(arguments: ["api.example.com", "API.Example.COM"], ["api.example.com", "Api.EXAMPLE.com"])
    func evaluatorsAreFoundInAnyCaseOfTheHost(_ key: String, _ host: String) throws {
        let manager = ServerTrustManager(evaluators: [key: DisabledTrustEvaluator()])
        #expect(try manager.serverTrustEvaluator(forHost: host) is DisabledTrustEvaluator)
        #expect(manager.evaluators.keys.contains(key))
        #expect(throws: CurlewError.self) { try manager.serverTrustEvaluator(forHost: "example.com") }
    }

    @Test(arguments: [
        ("example.org", "https://example.org/", true), ("example.org", "https://EXAMPLE.org:443/", true),
        ("example.org", "http://example.org/", false), ("example.org", "https://example.org:8443/", false),
        ("https://example.org", "https://example.org/", true),
        ("https://example.org:443", "https://example.org/", true),
        ("https://example.org", "http://example.org/", false),
        ("https://example.org:8443", "https://example.org/", false),
        ("http://example.org", "http://example.org/", true),
        ("http://example.org:8080", "http://example.org:8080/", true),
        ("http://example.org:8080", "https://example.org:8080/", false),
        ("example.org:8080", "http://example.org:8080/", true), ("example.org:8080", "http://example.org/", false),
    ])
    func credentialsAreSentOnlyToTheirOrigin(_ key: String, _ url: String, _ goes: Bool) async throws {
        let session = Session(
            configuration: SessionConfiguration {
                $0.credentials = [key: TransferAuthentication(username: "u", password: "p")]
            },
            transport: answering
        )
        _ = await session.request(url).response()
        let sent = try #require(answering.requests.last)
        #expect((sent.transfer.options.authentication != nil) == goes)
    }
}
