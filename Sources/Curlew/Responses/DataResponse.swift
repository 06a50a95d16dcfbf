public import CurlewCore
public import Foundation
public import FoundationNetworking

/// The outcome of a data request: the request that was sent, the response, and the value made from it.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last `URLRequest` that was sent.
    public let request: URLRequest?
    /// The body as received.
    public let data: Data?
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
        result: Result<Success, Failure>
    ) {
        self.init(
            request: request,
            lazyResponse: response.map(LazyResponse.init),
            data: data,
            metrics: metrics,
            serializationDuration: serializationDuration,
            result: result
        )
    }

    init(
        request: URLRequest?,
        lazyResponse: LazyResponse?,
        data: Data?,
        metrics: TransferMetrics?,
        serializationDuration: TimeInterval,
        result: Result<Success, Failure>,
        sensitiveHeaders: [String] = []
    ) {
        self.request = request
        self.lazyResponse = lazyResponse
        self.data = data
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
        self.sensitiveHeaders = sensitiveHeaders
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
            sensitiveHeaders: sensitiveHeaders
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
