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

    func perform(_ handle: (Event) async throws -> Void) async throws -> Outcome {
        switch preparation.plan.body {
        case .none, .data: try await stream(handle)
        case .file, .standardInput, .multipart: try await upload(handle)
        }
    }

    /// The body is in memory or there is none: the answer is handed on while it comes.
    private func stream(_ handle: (Event) async throws -> Void) async throws -> Outcome {
        let request = session.streamRequest(try plannedRequest(), interceptor: interceptor)
        let retry = retry
        if retry.limit == 0 {
            request.acceptingAnyStatus()
        } else {
            request.validate { [weak request] _, response in
                retry.check(response, retryCount: request?.retryCount ?? 0)
            }
        }
        if let authentication = preparation.auth.flatMap({ TransferAuthentication($0) }) {
            request.authenticate(with: authentication)
        }
        let head = try await request.head()
        try await handle(.head(head))
        for try await chunk in request.chunks { try await handle(.bytes(chunk)) }
        return Outcome(head: head, metrics: request.metrics, url: request.response?.url)
    }

    /// The body comes from elsewhere: the answer is handed on when it is complete.
    private func upload(_ handle: (Event) async throws -> Void) async throws -> Outcome {
        let request = try makeUpload()
        let retry = retry
        request.validate { [weak request] _, response, _ in
            retry.check(response, retryCount: request?.retryCount ?? 0)
        }
        request.maximumBodySize(1 << 30)
        if let authentication = preparation.auth.flatMap({ TransferAuthentication($0) }) {
            request.authenticate(with: authentication)
        }
        let response = await request.response()
        let data = try response.result.get()
        guard let head = request.head else {
            throw CurlewError(.internal, phase: .receive, reason: "an answer without a head")
        }
        try await handle(.head(head))
        if let data { try await handle(.bytes(data)) }
        return Outcome(head: head, metrics: request.metrics, url: request.response?.url)
    }

    private func makeUpload() throws -> UploadRequest {
        let request = try plannedRequest()
        switch preparation.plan.body {
        case .multipart(let parts, let boundary):
            return session.upload(
                multipartFormData: try RequestPlan.form(parts, boundary: boundary),
                with: request,
                interceptor: interceptor
            )
        case .file(let path):
            return session.upload(URL(filePath: InputFile.expanded(path)), with: request, interceptor: interceptor)
        case .standardInput:
            return session.upload(StandardInputBody(), with: request, interceptor: interceptor)
        case .data(let bytes):
            return session.upload(Data(bytes), with: request, interceptor: interceptor)
        case .none:
            return session.upload(Data(), with: request, interceptor: interceptor)
        }
    }

    private func plannedRequest() throws -> URLRequest { try preparation.plan.urlRequest() }

    private var retry: RetrySettings { RetrySettings(limit: preparation.invocation.network.retries) }

    private var interceptor: (any RequestInterceptor)? {
        var parts: [any RequestInterceptor] = []
        if let policy = retry.interceptor { parts.append(policy) }
        let compression = preparation.invocation.body.compression
        if compression != .off { parts.append(DeflateRequestCompressor { compression.applies(to: $0.count) }) }
        return parts.isEmpty ? nil : Interceptor(interceptors: parts)
    }
}
