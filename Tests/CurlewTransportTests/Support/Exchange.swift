import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

private let identifiers = Identifiers()

private final class Identifiers: Sendable {
    func next() -> TaskIdentifier { TaskIdentifier(rawValue: UInt64.random(in: 1...UInt64.max)) }
}

/// Returns a request with a new identifier.
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

/// The outcome of one exchange, and the sink that has received the response.
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

    /// Returns the error of an exchange that must fail.
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

/// Runs a test with a new transport and a new server, and expects that no transfer is left afterwards.
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

/// Returns the duration of `body`.
func elapsed(_ body: () async throws -> Void) async rethrows -> Duration {
    try await ContinuousClock().measure { try await body() }
}

/// Returns the shortest of at most three measurements, and stops at the first one below `bound`. A busy machine may
/// delay one of them; code that is slow is slow in all of them.
func fastestOfThree(below bound: Duration, _ measure: () async throws -> Duration) async rethrows -> Duration {
    var fastest = try await measure()
    for _ in 0..<2 where fastest >= bound { fastest = min(fastest, try await measure()) }
    return fastest
}
