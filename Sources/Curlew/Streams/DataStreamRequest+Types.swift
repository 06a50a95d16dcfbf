public import CurlewCore
internal import Foundation
public import FoundationNetworking

extension DataStreamRequest {
    /// Is called with every chunk, and last with the completion. An error that it throws ends the request.
    public typealias Handler<Success: Sendable, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

    /// What a handler gets: an event, and the means to stop.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// A chunk, or the end of the stream.
        public let event: Event<Success, Failure>
        /// Cancels the request.
        public let token: CancellationToken

        /// Cancels the request.
        public func cancel() { token.cancel() }

        /// The chunk's result, where this is a chunk.
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

        /// How the request ended, where this is the completion.
        public var completion: Completion? {
            guard case .complete(let completion) = event else { return nil }
            return completion
        }
    }

    /// A chunk, or the end.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A chunk, serialized.
        case stream(Result<Success, Failure>)
        /// The end: always last.
        case complete(Completion)
    }

    /// How a stream ended.
    public struct Completion: Sendable {
        /// The last `URLRequest` that was sent.
        public let request: URLRequest?
        /// The response's head.
        public let response: HTTPURLResponse?
        /// The last attempt's metrics.
        public let metrics: TransferMetrics?
        /// What went wrong, if something did.
        public let error: CurlewError?
    }

    /// Cancels a stream without keeping it alive.
    public struct CancellationToken: Sendable {
        weak var request: DataStreamRequest?

        /// Cancels the request.
        public func cancel() { request?.cancel() }
    }
}
