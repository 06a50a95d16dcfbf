public import Curlew
public import Foundation
public import FoundationNetworking

/// A request's latest exchange with what code reads of a `URLSessionTask`: `request.task?.currentRequest`.
///
/// A value: it tells what its request knows when it is asked.
public struct RequestTask: Sendable, Hashable {
    /// How far an exchange has come.
    public enum State: Sendable {
        /// It is at work.
        case running
        /// It is being held.
        case suspended
        /// It was cancelled and has not ended.
        case canceling
        /// It has ended.
        case completed
    }

    /// The exchange's name in its session.
    public let identifier: TaskIdentifier
    /// What it is an exchange of.
    public let request: Request

    /// The exchange's name as a number.
    public var taskIdentifier: Int { Int(clamping: identifier.rawValue) }

    /// The `URLRequest` of the try, after adapters and before redirects.
    public var originalRequest: URLRequest? { request.describedRequest }

    /// The `URLRequest` that went out last, after redirects.
    public var currentRequest: URLRequest? { request.performedRequests.last }

    /// The response's head.
    public var response: URLResponse? { request.response }

    /// What went wrong.
    public var error: (any Error)? { request.error }

    /// How far the exchange has come.
    public var state: State {
        if request.hasEnded { return .completed }
        return switch request.state {
        case .cancelled: .canceling
        case .suspended, .initialized: .suspended
        case .resumed: .running
        case .finished: .completed
        }
    }

    /// Bytes of the request's body that have gone out.
    public var countOfBytesSent: Int64 { request.uploadProgress.completedUnitCount }

    /// How many there are; 0 without a body, -1 where that is not known.
    public var countOfBytesExpectedToSend: Int64 { request.uploadProgress.totalUnitCount }

    /// Bytes of the response's body that have come.
    public var countOfBytesReceived: Int64 { request.downloadProgress.completedUnitCount }

    /// How many the response announces; -1 where it does not say.
    public var countOfBytesExpectedToReceive: Int64 { request.downloadProgress.totalUnitCount }

    /// How much of the response's body has come.
    public var progress: Progress { request.downloadProgress }

    /// The request's own words.
    public var taskDescription: String? {
        get { request.taskDescription }
        nonmutating set { request.taskDescription = newValue }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }

    /// Holds the request.
    public func suspend() { request.suspend() }

    /// Lets the request go on.
    public func resume() { request.resume() }
}

extension RequestTask: CustomStringConvertible {
    public var description: String { identifier.description }
}
