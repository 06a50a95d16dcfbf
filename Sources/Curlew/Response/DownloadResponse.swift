public import CurlewCore
public import Foundation
public import FoundationNetworking

/// What a download ended with: what was sent, where the file is, and what it was turned into.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last `URLRequest` that was sent.
    public let request: URLRequest?
    /// The URL of the downloaded file; nil if there is none.
    public let fileURL: URL?
    /// What a later request can continue a broken download with.
    public let resumeData: Data?
    /// The last attempt's metrics; also of a failed one.
    public let metrics: TransferMetrics?
    /// How long the serializer took, in seconds.
    public let serializationDuration: TimeInterval
    /// The value, or the error.
    public let result: Result<Success, Failure>

    let lazyResponse: LazyResponse?
    /// Names of fields that the request's session calls secret.
    let sensitiveHeaders: [String]

    /// The response's head as Foundation knows it. Built when first asked for; `head` is cheaper and complete.
    public var response: HTTPURLResponse? { lazyResponse?.value }

    /// The response's head as received.
    public var head: ResponseHead? { lazyResponse?.head }

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

    /// Creates a response, for tests and for code that stands in for a request.
    public init(
        request: URLRequest?,
        response: HTTPURLResponse?,
        fileURL: URL?,
        resumeData: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>
    ) {
        self.init(
            request: request,
            lazyResponse: response.map(LazyResponse.init),
            fileURL: fileURL,
            resumeData: resumeData,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result
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
        sensitiveHeaders: [String] = []
    ) {
        self.request = request
        self.lazyResponse = lazyResponse
        self.fileURL = fileURL
        self.resumeData = resumeData
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
        self.sensitiveHeaders = sensitiveHeaders
    }

    func with<S: Sendable, F: Error>(_ result: Result<S, F>) -> DownloadResponse<S, F> {
        DownloadResponse<S, F>(
            request: request,
            lazyResponse: lazyResponse,
            fileURL: fileURL,
            resumeData: resumeData,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result,
            sensitiveHeaders: sensitiveHeaders
        )
    }
}

/// A download response whose failure is a `CurlewError`.
public typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, CurlewError>

extension DownloadResponse {
    /// The response with its value transformed.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// The response with its value transformed by what may fail.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> {
        with(result.tryMap(transform))
    }

    /// The response with its error transformed.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DownloadResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// The response with its error transformed by what may fail itself.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DownloadResponse<Success, any Error> {
        with(result.tryMapError(transform))
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(result)" }

    /// Request, response, file, durations and result on several lines. Not for logs. Left out are credentials, cookies, tokens
    /// and query values, and the fields that `redirects.sensitiveHeaders` names.
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
