public import CurlewCore
public import Foundation
public import FoundationNetworking

/// The outcome of a data request: the request that was sent, the response, and the value made from it.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last `URLRequest` that was sent.
    public let request: URLRequest?
    /// The body as received.
    public let data: Data?
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
        data: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>,
        trailers: HTTPHeaders? = nil
    ) {
        self.init(
            request: request,
            lazyResponse: response.map(LazyResponse.init),
            data: data,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result,
            trailers: trailers
        )
    }

    init(
        request: URLRequest?,
        lazyResponse: LazyResponse?,
        data: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>,
        sensitiveHeaders: [String] = [],
        trailers: HTTPHeaders? = nil
    ) {
        self.request = request
        self.lazyResponse = lazyResponse
        self.data = data
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
        self.sensitiveHeaders = sensitiveHeaders
        self.trailers = trailers
    }

    /// Returns the response with another result.
    package func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DataResponse<S, F> {
        DataResponse<S, F>(
            request: request,
            lazyResponse: lazyResponse,
            data: data,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: sensitiveHeaders,
            trailers: trailers
        )
    }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(result)" }

    /// Request, response, durations and result on several lines. Do not log it: text bodies are shown. Credentials,
    /// cookies, tokens, query values, and the fields in `redirects.sensitiveHeaders` are left out.
    public var debugDescription: String {
        guard let request else { return "[Request]: None\n[Result]: \(result)" }
        let lines = ResponseDescription(sensitiveHeaders: sensitiveHeaders)
        return [
            lines.of(request),
            lines.of(head, body: data),
            lines.durations(network: metrics, serialization: serializationDuration),
            "[Result]: \(result)",
        ].joined(separator: "\n")
    }
}

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

/// The lines of a response's debug description.
struct ResponseDescription {
    /// The names, in lower case, of fields that the session treats as secret, in addition to those that always are.
    private let sensitiveHeaders: Set<String>

    init(sensitiveHeaders: [String]) { self.sensitiveHeaders = Set(sensitiveHeaders.map(ASCII.lowercased)) }

    func of(_ request: URLRequest) -> String {
        let headers = request.headers.sortedByName()
        return """
            [Request]: \(request.httpMethod ?? "GET") \(request.url.map { Redaction.redacted($0).absoluteString } ?? "nil")
            \(indented(fields(headers)))
            \(indented(body(request.httpBody, headers: headers)))
            """
    }

    func of(_ head: ResponseHead?, body data: Data?) -> String {
        guard let head else { return "[Response]: None" }
        return of(head) + "\n" + indented(body(data, headers: head.headers))
    }

    func of(_ head: ResponseHead?) -> String {
        guard let head else { return "[Response]: None" }
        return """
            [Response]:
                [Status Code]: \(head.status)
            \(indented(fields(head.headers.sortedByName())))
            """
    }

    func durations(network metrics: TransferMetrics?, serialization: TimeInterval) -> String {
        """
        [Network Duration]: \(metrics.map { "\($0.duration)s" } ?? "None")
        [Serialization Duration]: \(serialization)s
        """
    }

    private func fields(_ headers: HTTPHeaders) -> String {
        guard !headers.isEmpty else { return "[Headers]: None" }
        let lines = headers.map { "\($0.name): \(Redaction.value(of: $0, andOf: sensitiveHeaders))" }
        return "[Headers]:\n\(indented(lines.joined(separator: "\n")))"
    }

    private func body(_ data: Data?, headers: HTTPHeaders, limit: Int = 100_000) -> String {
        guard let data, !data.isEmpty else { return "[Body]: None" }
        let type = headers["Content-Type"] ?? ""
        guard data.count <= limit, ["json", "xml", "text"].contains(where: { type.contains($0) }) else {
            return "[Body]: \(data.count) bytes"
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return "[Body]:\n\(indented(Redaction.body(text, type: type)))"
    }

    private func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n")
    }
}

/// A data or download response for handlers and awaiting methods, made from a run's result.
protocol HandledResponse: Sendable {
    associatedtype Value: Sendable

    init(of run: RunResult, serializationDuration: TimeInterval, result: Result<Value, CurlewError>)
    func failing(with error: CurlewError) -> Self
}

extension DataResponse: HandledResponse where Failure == CurlewError {
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: Result<Success, CurlewError>) {
        self.init(
            request: run.request?.urlRequest,
            lazyResponse: run.response,
            data: run.body.contents,
            metrics: run.metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: run.sensitiveHeaders,
            trailers: run.trailers
        )
    }

    func failing(with error: CurlewError) -> DataResponse { with(.failure(error)) }
}

extension DownloadResponse: HandledResponse where Failure == CurlewError {
    init(of run: RunResult, serializationDuration: TimeInterval = 0, result: Result<Success, CurlewError>) {
        self.init(
            request: run.request?.urlRequest,
            lazyResponse: run.response,
            fileURL: run.body.fileURL,
            resumeData: run.resumeData,
            metrics: run.metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: run.sensitiveHeaders,
            trailers: run.trailers
        )
    }

    func failing(with error: CurlewError) -> DownloadResponse { with(.failure(error)) }
}
