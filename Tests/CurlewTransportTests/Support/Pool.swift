import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// The protocols that a test server speaks, with and without TLS.
enum Wire: String, CaseIterable, Sendable {
    case plain, tls, http2

    func configure(_ server: inout TestServer.Configuration) {
        if self != .plain { server.tls = TestServer.TLS() }
        if self == .http2 { server.protocols = [.http2, .http1] }
    }

    var version: HTTPVersion { self == .http2 ? .http2 : .http1_1 }
}

/// Runs a test with a server that speaks `wire` and a transport that trusts it.
func withPool(
    _ wire: Wire = .plain,
    _ configure: (inout TransportConfiguration) -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (CurlTransport, TestServer) async throws -> Void
) async throws {
    var serverConfiguration = TestServer.Configuration()
    wire.configure(&serverConfiguration)
    let server = try TestServer(serverConfiguration)
    defer { server.stop() }
    var configuration = TransportConfiguration()
    configuration.proxy = .none
    configuration.tls.trustRoots = server.trustRoots
    configure(&configuration)
    let transport = CurlTransport(configuration: configuration)
    try await body(transport, server)
    expectNothingLeft(transport, sourceLocation)
    await transport.shutdown()
}

extension CurlTransport {
    func expectSuccess(_ url: URL, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let answer = try await fetch(request(url))
        #expect(answer.status == 200, sourceLocation: sourceLocation)
    }

    /// Expects that the condition is met soon.
    func expectPool(
        of url: URL, sourceLocation: SourceLocation = #_sourceLocation,
        _ isTrue: (ConnectionSnapshot.Pool) -> Bool
    ) async throws {
        let pool = try await pool(of: url, until: isTrue)
        #expect(isTrue(pool), "\(pool)", sourceLocation: sourceLocation)
    }

    /// Returns the first snapshot that meets the condition, or the last one if none does in time.
    func pool(of url: URL, until isTrue: (ConnectionSnapshot.Pool) -> Bool = { _ in true }) async throws
        -> ConnectionSnapshot.Pool
    {
        let origin = try #require(ConnectionSnapshot.Origin(url))
        let end = ContinuousClock.now + Duration.seconds(60).asTestBound
        while true {
            let pool = await connections.origins[origin] ?? .init()
            if isTrue(pool) || ContinuousClock.now > end { return pool }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
