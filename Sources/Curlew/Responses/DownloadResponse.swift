public import CurlewCore
public import Foundation
public import FoundationNetworking

/// The outcome of a download: the request that was sent, the file, and the value made from it.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last `URLRequest` that was sent.
    public let request: URLRequest?
    /// The URL of the downloaded file; `nil` if there is none.
    public let fileURL: URL?
    /// The data with which a later request can continue the download; `nil` if it cannot be continued.
    public let resumeData: Data?
    /// The trailer fields, which follow the body. `nil` without a complete response, empty if it had none. See
    /// ``Request/trailers``.
    public let trailers: HTTPHeaders?
    /// The metrics of the last attempt, even if it failed.
    public let metrics: TransferMetrics?
    /// The time that the serializer took, in seconds.
    public let serializationDuration: TimeInterval
    /// The value, or the error.
    public let result: Result<Success, Failure>

    let lazyResponse: LazyResponse?
    /// The names of the fields that the session treats as secret.
    let sensitiveHeaders: [String]

    /// The response's head as Foundation's type. Created on first use; `head` is cheaper and complete.
    public var response: HTTPURLResponse? { lazyResponse?.value }

    /// The response's head as received.
    public var head: ResponseHead? { lazyResponse?.head }

    /// The cache's part in the last attempt; `nil` without a cache.
    public var cacheStatus: CacheStatus? { metrics?.cacheStatus }

    /// The value, if there is one.
    public var value: Success? {
        guard case .success(let value) = result else { return nil }
        return value
    }

    /// The error, if there is one.
    public var error: Failure? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// Creates a response, for tests and for code that replaces a request.
    public init(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        resumeData: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>,
        trailers: HTTPHeaders? = nil
    ) {
        self.init(
            request: request,
            lazyResponse: response.map(LazyResponse.init),
            fileURL: fileURL,
            resumeData: resumeData,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result,
            trailers: trailers
        )
    }

    init(
        request: URLRequest?,
        lazyResponse: LazyResponse?,
        fileURL: URL?,
        resumeData: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>,
        sensitiveHeaders: [String] = [],
        trailers: HTTPHeaders? = nil
    ) {
        self.request = request
        self.lazyResponse = lazyResponse
        self.fileURL = fileURL
        self.resumeData = resumeData
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
        self.sensitiveHeaders = sensitiveHeaders
        self.trailers = trailers
    }

    /// Returns the response with another result.
    package func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DownloadResponse<S, F> {
        DownloadResponse<S, F>(
            request: request,
            lazyResponse: lazyResponse,
            fileURL: fileURL,
            resumeData: resumeData,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: sensitiveHeaders,
            trailers: trailers
        )
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(result)" }

    /// Request, response, file, durations and result on several lines. Do not log it. Credentials, cookies, tokens,
    /// query values, and the fields in `redirects.sensitiveHeaders` are left out.
    public var debugDescription: String {
        guard let request else { return "[Request]: None\n[Result]: \(result)" }
        let lines = ResponseDescription(sensitiveHeaders: sensitiveHeaders)
        return [
            lines.of(request),
            lines.of(head),
            "[File URL]: \(fileURL?.path ?? "None")",
            "[Resume Data]: \(resumeData.map { "\($0)" } ?? "None")",
            lines.durations(network: metrics, serialization: serializationDuration),
            "[Result]: \(result)",
        ].joined(separator: "\n")
    }
}
