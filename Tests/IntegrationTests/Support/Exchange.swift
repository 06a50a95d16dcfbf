import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation

/// A finished exchange: its outcome, and the events that its sink collected.
struct Exchange: Sendable {
    let outcome: TransferOutcome
    let record: CollectingSink.Record

    var status: Int { outcome.head.status }
    var head: ResponseHead { outcome.head }
    var metrics: TransferMetrics { outcome.metrics }
    var text: String { String(decoding: record.body, as: UTF8.self) }

    /// Returns the value of a line `name=value` in nginx's `/info`, which describes the request that nginx received.
    func seen(_ name: String) -> String? {
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return String(parts[1]) }
        }
        return nil
    }
}

private let identifiers = Lock(UInt64(0))

func makeRequest(
    _ url: URL,
    method: HTTPMethod = .get,
    headers: HTTPHeaders = [:],
    body: BodySource = .none,
    options: TransferOptions = TransferOptions()
) -> TransferRequest {
    let number = identifiers.withLock { number in
        number += 1
        return number
    }
    return TransferRequest(
        identifier: TaskIdentifier(rawValue: number),
        url: url,
        method: method,
        headers: headers,
        body: body,
        options: options
    )
}

extension Transport {
    /// Performs one exchange, and collects its events.
    func exchange(
        _ url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        body: BodySource = .none,
        options: TransferOptions = TransferOptions()
    ) async throws(CurlewError) -> Exchange {
        let sink = CollectingSink()
        let request = makeRequest(url, method: method, headers: headers, body: body, options: options)
        let outcome = try await perform(request, sink: sink)
        return Exchange(outcome: outcome, record: sink.current)
    }

    /// Performs one exchange, and returns its error, or `nil` if it succeeds.
    func failure(_ url: URL, method: HTTPMethod = .get, body: BodySource = .none) async -> CurlewError? {
        do throws(CurlewError) {
            _ = try await exchange(url, method: method, body: body)
            return nil
        } catch {
            return error
        }
    }
}

extension CurlTransport {
    /// Performs one exchange whose task is cancelled after the head has arrived, and returns its error.
    func failureIfCancelledAfterHead(_ url: URL) async throws -> CurlewError? {
        let sink = CollectingSink()
        let request = makeRequest(url)
        let running = Task { () async -> CurlewError? in
            do throws(CurlewError) {
                _ = try await perform(request, sink: sink)
                return nil
            } catch {
                return error
            }
        }
        defer { running.cancel() }
        try await eventually { sink.current.head != nil }
        running.cancel()
        return await running.value
    }
}

/// A transport that uses no proxy, whatever the environment of the machine names.
func makeTransport(_ change: (inout TransportConfiguration) throws -> Void) rethrows -> CurlTransport {
    var configuration = TransportConfiguration()
    configuration.proxy = .none
    try change(&configuration)
    return CurlTransport(configuration: configuration)
}

func makeTransport() -> CurlTransport { makeTransport { _ in } }

/// A transport that trusts the CA of the test servers.
func makeTrustingTransport(_ change: (inout TransportConfiguration) throws -> Void = { _ in }) throws -> CurlTransport {
    try makeTransport { configuration in
        configuration.tls.trustRoots = .file(try IntegrationEnvironment.file("CA_FILE"))
        try change(&configuration)
    }
}

/// A session that uses no proxy and trusts the CA of the test servers.
func makeTrustingSession(
    serverTrustManager: ServerTrustManager? = nil,
    _ change: (inout SessionConfiguration) throws -> Void = { _ in }
) throws -> Session {
    var configuration = SessionConfiguration()
    configuration.proxy = .none
    configuration.tls.trustRoots = .file(try IntegrationEnvironment.file("CA_FILE"))
    try change(&configuration)
    return Session(configuration: configuration, serverTrustManager: serverTrustManager)
}
