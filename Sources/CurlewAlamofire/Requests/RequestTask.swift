public import Curlew
public import Foundation
public import FoundationNetworking

/// A request's latest exchange, with the members of a `URLSessionTask` that code reads: `request.task?.currentRequest`.
///
/// A value that reads its request: each member returns what the request knows at that time.
public struct RequestTask: Sendable, Hashable {
    /// The state of an exchange.
    public enum State: Sendable {
        /// The exchange is running.
        case running
        /// The exchange is suspended.
        case suspended
        /// The exchange was cancelled and has not ended.
        case canceling
        /// The exchange has ended.
        case completed
    }

    /// The identifier of the exchange in its session.
    public let identifier: TaskIdentifier
    /// The request that the exchange belongs to.
    public let request: Request

    /// The identifier as a number.
    public var taskIdentifier: Int { Int(clamping: identifier.rawValue) }

    /// The `URLRequest` of the attempt, after adapters and before redirects.
    public var originalRequest: URLRequest? { request.describedRequest }

    /// The `URLRequest` that was sent last, after redirects.
    public var currentRequest: URLRequest? { request.performedRequests.last }

    /// The response's head.
    public var response: URLResponse? { request.response }

    /// The error of the request.
    public var error: (any Error)? { request.error }

    /// The state of the exchange.
    public var state: State {
        if request.hasResult { return .completed }
        return switch request.state {
        case .cancelled: .canceling
        case .suspended, .initialized: .suspended
        case .resumed: .running
        case .finished: .completed
        }
    }

    /// The number of body bytes that have been sent.
    public var countOfBytesSent: Int64 { request.uploadProgress.completedUnitCount }

    /// The length of the request body in bytes. 0 without a body, -1 if it is not known.
    public var countOfBytesExpectedToSend: Int64 { request.uploadProgress.totalUnitCount }

    /// The number of body bytes that have been received.
    public var countOfBytesReceived: Int64 { request.downloadProgress.completedUnitCount }

    /// The length that the response announces, in bytes. -1 if it announces none.
    public var countOfBytesExpectedToReceive: Int64 { request.downloadProgress.totalUnitCount }

    /// The progress of receiving the response's body.
    public var progress: Progress { request.downloadProgress }

    /// The `taskDescription` of the request.
    public var taskDescription: String? {
        get { request.taskDescription }
        nonmutating set { request.taskDescription = newValue }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Suspends the request.
    public func suspend() { request.suspend() }

    /// Starts the request, or continues it after `suspend()`.
    public func resume() { request.resume() }
}

extension RequestTask: CustomStringConvertible {
    public var description: String { identifier.description }
}
