import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

private let identifiers = Identifiers()

private final class Identifiers: Sendable {
    func next() -> TaskIdentifier { TaskIdentifier(rawValue: UInt64.random(in: 1...UInt64.max)) }
}

/// A request with a fresh identifier.
func request(
    _ url: URL,
    method: HTTPMethod = .get,
    headers: HTTPHeaders = [:],
    body: BodySource = .none,
    _ change: (inout TransferRequest) -> Void = { _ in }
) -> TransferRequest {
    var request = TransferRequest(
        identifier: identifiers.next(), url: url, method: method, headers: headers, body: body)
    change(&request)
    return request
}

/// What one exchange gave.
struct Answer {
    var outcome: TransferOutcome
    var sink: CollectingSink

    var status: Int { outcome.head.status }
    var text: String { sink.text }
}

extension CurlTransport {
    func fetch(_ request: TransferRequest, _ sink: CollectingSink = CollectingSink()) async throws(CurlewError)
        -> Answer
    {
        Answer(outcome: try await perform(request, sink: sink), sink: sink)
    }

    /// The error of an exchange that must fail.
    func failure(
        _ request: TransferRequest,
        _ sink: CollectingSink = CollectingSink(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> CurlewError {
        do throws(CurlewError) {
            let outcome = try await perform(request, sink: sink)
            Issue.record("the exchange gave \(outcome.head.status)", sourceLocation: sourceLocation)
            return CurlewError(.`internal`, phase: .receive, reason: "no failure")
        } catch {
            return error
        }
    }
}

/// Runs a test with a transport and a server of its own; afterwards nothing of the transport may be left.
func withTransport<R>(
    _ configure: (inout TransportConfiguration) -> Void = { _ in },
    server configureServer: (inout TestServer.Configuration) -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (CurlTransport, TestServer) async throws -> R
) async throws -> R {
    var serverConfiguration = TestServer.Configuration()
    configureServer(&serverConfiguration)
    let server = try TestServer(serverConfiguration)
    var configuration = TransportConfiguration()
    configuration.proxy = .none
    configure(&configuration)
    let transport = CurlTransport(configuration: configuration)
    let result = try await body(transport, server)
    expectNothingLeft(transport, sourceLocation)
    await transport.shutdown()
    server.stop()
    return result
}

func expectNothingLeft(_ transport: CurlTransport, _ sourceLocation: SourceLocation = #_sourceLocation) {
    let left = transport.statistics
    #expect(left.liveTransfers == 0, sourceLocation: sourceLocation)
    #expect(left.easyHandlesInUse == 0, sourceLocation: sourceLocation)
}

/// How long something took.
func elapsed(_ body: () async throws -> Void) async rethrows -> Duration {
    try await ContinuousClock().measure { try await body() }
}

/// The least of at most three times. A busy machine may delay one, and what is slow by itself is slow in each: the
/// first below the bound decides.
func fastestOfThree(below bound: Duration, _ measure: () async throws -> Duration) async rethrows -> Duration {
    var fastest = try await measure()
    for _ in 0..<2 where fastest >= bound { fastest = min(fastest, try await measure()) }
    return fastest
}
