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
    var bodyMaker: BodyMaker?
    /// Tells the transport how the response body is used.
    var purpose = TransferPurpose.memory
    /// Makes the delegate for a response that is delivered. Called when its head is known.
    var makeDelegate: @Sendable (Exchange) -> any TaskDelegate = { DataTaskDelegate(limit: $0.request.bodyLimit) }
    /// Reads the response while the request runs. `nil` if only the result is of interest.
    var reader: (any ResponseReader)?
    /// Opens the connection of a WebSocket, which does not use the session's transport. `nil` for other kinds.
    var webSocket: WebSocketAttempts?
    /// Removes temporary files, or keeps them as a part to continue. Called once, after the last attempt.
    var cleanUp: (@Sendable (Request) async -> Void)?
    /// Returns the resume data with which a later download can continue this one.
    var resumeData: (@Sendable (Request) -> Data?)?

    var hasToCleanUp: Bool { cleanUp != nil || bodyMaker != nil }
}

extension Request {
    var opensWebSocket: Bool { kind.webSocket != nil }
}

/// The reader of a response that is delivered while it arrives, which the run asks and notifies. A download has one for
/// the closures that wait for its resume data.
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

/// Stands in for the description of a request whose kind belongs to another subclass of `Request`. The session never
/// makes such a request.
struct NoDescription: URLRequestConvertible, Error {
    func asURLRequest() throws -> URLRequest { throw CurlewError.requestNotCreated(self) }
}
