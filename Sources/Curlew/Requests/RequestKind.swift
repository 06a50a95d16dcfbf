internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The differences between data requests, uploads, downloads, streams and WebSockets, as a value. The run asks it; the
/// subclasses of `Request` add only public methods.
///
/// A closure that needs the request gets it as a parameter: a kind that referred to its request would be a cycle.
struct RequestKind: Sendable {
    /// The user's description of the request.
    let source: RequestSource
    /// Makes the body that is sent. `nil` if it is the one inside the `URLRequest`.
    var upload: UploadTaskDelegate?
    /// Tells the transport how the response body is used.
    var purpose = TransferPurpose.memory
    /// Makes the delegate for a response that is delivered. Called when its head is known.
    var makeDelegate: @Sendable (Exchange) -> any TaskDelegate = { DataTaskDelegate(limit: $0.request.bodyLimit) }
    /// Reads the response while the request runs. `nil` if only the result is of interest.
    var reader: (any ResponseReader)?
    /// Opens a separate connection for the request, instead of using the session's transport.
    var connection: (any RequestConnection)?
    /// Removes temporary files, or keeps them as a part to continue. Called once, after the last attempt.
    var cleanUp: (@Sendable (Request) async -> Void)?
    /// Returns the resume data with which a later download can continue this one.
    var resumeData: (@Sendable (Request) -> Data?)?

    var hasToCleanUp: Bool { cleanUp != nil || upload != nil }
}

extension Request {
    /// Whether the request opens a separate connection. Only WebSockets do.
    var opensWebSocket: Bool { if case .some = kind.connection { true } else { false } }
}

/// The reader of a response that is delivered while it arrives.
protocol ResponseReader: Sendable {
    /// Makes a handle for a run that must not keep the user's handle alive.
    func handleOfRun(for request: Request) -> Request
    /// Whether another attempt is safe. `false` once the reader has received something that cannot be taken back.
    func allowsAnotherAttempt(of request: Request) -> Bool
    /// Called after every call of `cancel()`, also after the end.
    func cancelled(with error: CurlewError)
    /// Called once with the result, before awaiting tasks receive it.
    func ended(with result: RunResult)
    /// Waits until handlers have consumed the response and everything that precedes its completions has been delivered.
    func untilConsumed(of request: Request) async
}

extension ResponseReader {
    func handleOfRun(for request: Request) -> Request { request }
    func allowsAnotherAttempt(of request: Request) -> Bool { true }
    func ended(with result: RunResult) {}
    func cancelled(with error: CurlewError) {}
}

/// A connection that a request opens for itself. It speaks no HTTP after the handshake. It cannot use libcurl's
/// handling of challenges, so it answers only those for Basic.
protocol RequestConnection: Sendable {
    func transport(in session: Session, for exchange: Exchange) -> any Transport
    /// Returns the pause before the request connects again, or `nil` if it does not. Unlike a retry, this may follow a
    /// success.
    func pauseBeforeReconnecting(after result: RunResult) -> Duration?
    /// Returns the URL in the form in which the user gave it.
    func asGiven(_ url: URL) -> URL
}

/// The user's description of a request. Converted for every attempt.
enum RequestSource: Sendable {
    case plain(PlainRequest)
    case convertible(any URLRequestConvertible)
    /// The request makes the description itself.
    case own(@Sendable (Request, Run) throws -> URLRequest)

    /// Returns the description of the run's next attempt. Its URL may be relative.
    func urlRequest(of request: Request, in run: Run) throws -> URLRequest {
        switch self {
        case .plain(let plain): try plain.asURLRequest()
        case .convertible(let convertible): try convertible.asURLRequest()
        case .own(let make): try make(request, run)
        }
    }
}

/// Thrown if a kind is used with another subclass of `Request`, which the factories of the session never do.
struct NoDescription: Error {}
