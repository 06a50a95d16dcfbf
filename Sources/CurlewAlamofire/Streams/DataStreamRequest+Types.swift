public import Curlew
internal import Foundation
public import FoundationNetworking

extension DataStreamRequest {
    /// Called with every chunk and, last, with the completion. An error that it throws ends the request.
    public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

    /// The argument of a handler: an event, and the means to cancel.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// A chunk, or the end of the stream.
        public let event: Event<Success, Failure>
        /// Cancels the request.
        public let token: CancellationToken

        /// Cancels the request.
        public func cancel() { token.cancel() }

        /// The chunk's result; `nil` for the completion.
        public var result: Result<Success, Failure>? {
            guard case .stream(let result) = event else { return nil }
            return result
        }

        /// The chunk's value.
        public var value: Success? { try? result?.get() }

        /// The chunk's error.
        public var error: Failure? {
            guard case .failure(let error) = result else { return nil }
            return error
        }

        /// The completion; `nil` for a chunk.
        public var completion: Completion? {
            guard case .complete(let completion) = event else { return nil }
            return completion
        }
    }

    /// A chunk, or the completion.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A serialized chunk.
        case stream(Result<Success, Failure>)
        /// The completion. It is always the last event.
        case complete(Completion)
    }

    /// The outcome of a stream.
    public struct Completion: Sendable {
        /// The last `URLRequest` that was sent.
        public let request: URLRequest?
        /// The response's head.
        public let response: HTTPURLResponse?
        /// The last attempt's metrics.
        public let metrics: TransferMetrics?
        /// The error that ended the stream; `nil` if it succeeded.
        public let error: CurlewError?
    }

    /// Cancels a stream without keeping it alive.
    public struct CancellationToken: Sendable {
        weak var request: DataStreamRequest?

        /// Cancels the request.
        public func cancel() { request?.cancel() }
    }
}

extension DataStreamRequest.Completion: CustomStringConvertible, CustomReflectable {
    /// The URL and the outcome without secrets, which Foundation's description of a request would show.
    public var description: String {
        let url = request?.url.map { Redaction.redacted($0).absoluteString } ?? "no request"
        let end = error.map { "\($0)" } ?? response.map { "\($0.statusCode)" } ?? "no response"
        return "\(url): \(end)"
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
