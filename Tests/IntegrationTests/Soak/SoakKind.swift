import Curlew
import CurlewCore
import CurlewTransport
import Foundation

/// A kind of request in the mix of a soak test, with its allowed outcomes.
enum SoakKind: String, CaseIterable, Sendable {
    case small, head, compressed, missing, stored, http2, secure, newConnection, untrusted, closedPort, emptyReply
    case refusedByBody, cancelled, redirected, retried, cancelledRun

    /// All kinds, or those that `CURLEW_SOAK_KINDS` names, to isolate a kind that fails.
    static let chosen: [SoakKind] = {
        let names = ProcessInfo.processInfo.environment["CURLEW_SOAK_KINDS"] ?? ""
        let named = names.split(separator: ",").compactMap { SoakKind(rawValue: String($0)) }
        return named.isEmpty ? allCases : named
    }()

    /// The share of the kind in a hundred requests. Kinds with a handshake are rare, because a handshake costs a
    /// hundred times as much as the rest.
    var share: Int {
        switch self {
        case .small: 29
        case .http2: 15
        case .stored, .cancelled: 8
        case .compressed, .secure: 7
        case .redirected: 6
        case .missing, .closedPort, .refusedByBody: 4
        case .head, .emptyReply, .cancelledRun: 2
        case .newConnection, .untrusted: 1
        case .retried: 1
        }
    }

    func url() throws -> URL {
        switch self {
        case .small, .head, .cancelled, .cancelledRun: try IntegrationEnvironment.url("NGINX", "/small")
        case .compressed, .refusedByBody: try IntegrationEnvironment.url("NGINX", "/words.json")
        case .missing: try IntegrationEnvironment.url("NGINX", "/status/404")
        case .stored: try IntegrationEnvironment.url("NGINX", "/sink")
        case .http2: try IntegrationEnvironment.url("NGINX_TLS", "/small")
        case .secure, .newConnection: try IntegrationEnvironment.url("NGINX_TLS_HTTP1", "/small")
        case .untrusted: try IntegrationEnvironment.url("NGINX_UNKNOWN_CA", "/small")
        case .closedPort: try IntegrationEnvironment.url("CLOSED")
        case .emptyReply: try IntegrationEnvironment.url("NGINX", "/close")
        case .redirected: try IntegrationEnvironment.url("NGINX", "/redirect")
        case .retried: try IntegrationEnvironment.url("NGINX", "/status/500")
        }
    }

    /// The allowed outcomes. `nil` means success.
    private var expected: [CurlewError.Code?] {
        switch self {
        case .small, .head, .compressed, .missing, .stored, .http2, .secure, .newConnection, .redirected: [nil]
        case .untrusted: [.certificateUntrusted]
        case .closedPort: [.connectFailed]
        // It depends on the kernel whether the close is seen while sending or while receiving.
        case .emptyReply: [.receiveFailed, .sendFailed]
        case .refusedByBody: [.limitExceeded]
        // The cancellation may be too late for a small response.
        case .cancelled, .cancelledRun: [.cancelled, nil]
        case .retried: [.unacceptableStatus]
        }
    }

    func allows(_ code: CurlewError.Code?) -> Bool { expected.contains(code) }
}

/// The client of a soak test: a session, and the transport that it uses. Some kinds of requests use the transport
/// directly.
struct SoakClient: Sendable {
    let transport: CurlTransport
    let session: Session

    init() throws {
        transport = try makeTrustingTransport()
        session = Session(
            transport: transport,
            interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0, honorsRetryAfter: false)
        )
    }

    /// Sends the request, and returns the code of its error, or `nil` if it succeeds.
    func run(_ kind: SoakKind, _ url: URL, bodySize: Int) async -> CurlewError.Code? {
        switch kind {
        case .redirected, .retried: return await run(session.request(url).validate())
        case .cancelledRun:
            let request = session.request(url)
            let running = Task { await run(request) }
            request.cancel()
            return await running.value
        case .cancelled:
            let running = Task { await perform(kind, url, bodySize: bodySize) }
            running.cancel()
            return await running.value
        case .small, .head, .compressed, .missing, .stored, .http2, .secure, .newConnection, .untrusted, .closedPort,
            .emptyReply, .refusedByBody:
            return await perform(kind, url, bodySize: bodySize)
        }
    }

    private func run(_ request: DataRequest) async -> CurlewError.Code? {
        do {
            _ = try await request.data()
            return nil
        } catch {
            return error.code
        }
    }

    private func perform(_ kind: SoakKind, _ url: URL, bodySize: Int) async -> CurlewError.Code? {
        var options = TransferOptions()
        if kind == .refusedByBody { options.maximumBodySize = 100 }
        let method: HTTPMethod = kind == .stored ? .put : kind == .head ? .head : .get
        let request = makeRequest(
            url,
            method: method,
            headers: kind == .newConnection ? ["Connection": "close"] : [:],
            body: kind == .stored ? .data(Data(repeating: 7, count: bodySize)) : .none,
            options: options
        )
        do throws(CurlewError) {
            _ = try await transport.perform(request, sink: CollectingSink())
            return nil
        } catch {
            return error.code
        }
    }
}
