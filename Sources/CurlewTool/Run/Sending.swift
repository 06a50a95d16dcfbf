internal import Curlew
internal import Foundation

/// Sends a plan through a session and hands on what comes.
struct Sending: Sendable {
    enum Event: Sendable {
        case head(ResponseHead)
        case bytes(Data)
    }

    struct Outcome: Sendable {
        let head: ResponseHead
        let metrics: TransferMetrics?
        let url: URL?
    }

    let preparation: Preparation
    let session: Session

    /// Whether the body of the answer is received; the head alone otherwise.
    var receivesBody = true
    /// Says that another try follows, and when.
    var announce: @Sendable (RetryNote) async -> Void = { _ in }

    /// Is given the request that is about to be sent.
    var begin: @Sendable (DataStreamRequest) async -> Void = { _ in }

    /// The answer is handed on while it comes, whatever is sent.
    func perform(_ handle: (Event) async throws -> Void) async throws -> Outcome {
        let request = try makeRequest()
        let retry = retry
        if retry.limit == 0 {
            request.acceptingAnyStatus()
        } else {
            request.validate { [weak request] _, response in
                retry.check(response, retryCount: request?.retryCount ?? 0)
            }
        }
        await begin(request)
        let head = try await request.head()
        try await handle(.head(head))
        // Leaving would cut off a body that is being sent: what libcurl has taken need not have reached the server.
        if receivesBody || !preparation.plan.body.isEmpty {
            for try await chunk in request.chunks where receivesBody { try await handle(.bytes(chunk)) }
        } else {
            request.cancel()
            // What the head said about cookies is known when the exchange is over.
            await session.drain()
        }
        return Outcome(head: head, metrics: request.metrics, url: request.response?.url)
    }

    /// What was served although its time was over, while the server may be asked about it, is validated now: the command is
    /// about to end, and with it whatever it did in the background. The answer has been shown, so a failure is of no interest.
    func revalidate(after outcome: Outcome) async {
        guard outcome.metrics?.cacheStatus == .stale(.whileRevalidate), let request = try? makeRequest() else { return }
        request.cachePolicy(.revalidate)
        do { for try await _ in request.chunks {} } catch {}
    }

    private func makeRequest() throws -> DataStreamRequest {
        let request = try streamRequest()
        request.cachePolicy(preparation.invocation.cache.policy.forLibrary)
        if let authentication = preparation.auth.flatMap({ TransferAuthentication($0) }) {
            request.authenticate(with: authentication)
        }
        return request
    }

    private func streamRequest() throws -> DataStreamRequest {
        let request = try plannedRequest()
        let body: RequestBody
        switch preparation.plan.body {
        // What is in memory stands in the request, where it can be compressed.
        case .none, .data: return session.streamRequest(request, interceptor: interceptor)
        case .file(let path): body = .file(URL(filePath: InputFile.expanded(path)))
        case .standardInput: body = .sequence(StandardInputBody())
        case .multipart(let parts, let boundary):
            body = .multipart(try RequestPlan.form(parts, boundary: boundary))
        }
        return session.streamRequest(request, body: body, interceptor: interceptor)
    }

    private func plannedRequest() throws -> URLRequest { try preparation.plan.urlRequest() }

    private var retry: RetrySettings { RetrySettings(preparation) }

    private var interceptor: (any RequestInterceptor)? {
        var parts: [any RequestInterceptor] = []
        if let policy = retry.interceptor(announce) { parts.append(policy) }
        if preparation.compressesBody { parts.append(DeflateRequestCompressor()) }
        return parts.isEmpty ? nil : Interceptor(interceptors: parts)
    }
}
