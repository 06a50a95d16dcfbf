internal import Curlew
internal import Foundation

/// Sends a plan through a session and passes on the response while it arrives.
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

    /// Whether the body of the response is received. If not, only the head is.
    var receivesBody = true
    /// Called before the delay of a retry.
    var announce: @Sendable (RetryNote) async -> Void = { _ in }

    /// Called with the request before it is sent.
    var begin: @Sendable (DataStreamRequest) async -> Void = { _ in }

    /// Sends the request. The response is passed on while it arrives, even if the body is still being sent.
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
        // Stopping at the head would cut off a body that is being sent: bytes that libcurl has accepted may not have
        // reached the server yet.
        if receivesBody || !preparation.plan.body.isEmpty {
            for try await chunk in request.chunks where receivesBody { try await handle(.bytes(chunk)) }
        } else {
            request.cancel()
            // The head's cookies are in the jar only once the exchange has ended.
            await session.drain()
        }
        return Outcome(head: head, metrics: request.metrics, url: request.response?.url)
    }

    /// Validates a response that was served stale under `stale-while-revalidate`. The command is about to end, and a
    /// validation in the background would end with it, so it is awaited here. The response has been shown, so a failure
    /// is ignored.
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
        // A body in memory is part of the `URLRequest`, so that the interceptor can compress it.
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
        if preparation.compressesBody { parts.append(.deflatingBodies) }
        return parts.isEmpty ? nil : Interceptor(interceptors: parts)
    }
}
