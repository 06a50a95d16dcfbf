public import Curlew
public import Foundation
public import FoundationNetworking

/// Closures that make decisions for a session's requests, like the block setters of AFNetworking.
///
///     let session = Session(configuration: SessionConfiguration {
///         var hooks = SessionHooks()
///         hooks.responseDisposition = { _, response in
///             response.expectedContentLength > 10_000_000 ? .becomeDownload : .allow
///         }
///         hooks.challenge = { challenge in
///             challenge.failureCount == 0 ? .use(TransferAuthentication(username: "ada", password: "…")) : .deliver
///         }
///         $0.hooks = hooks
///     })
///
/// A request's own settings (`redirect(using:)`, `onHTTPResponse`, `authenticate(with:)`) take precedence, except for
/// the destination of a download: there the session's hook does. The closures run in the task that drives the request
/// or on threads for file work, never on the transport's thread. To observe without deciding, use an `EventMonitor`.
public struct SessionHooks: Sendable {
    /// Called when the session was invalidated or deallocated.
    public var sessionDidBecomeInvalid: (@Sendable (SessionReference) -> Void)?

    /// Returns a new body when a streamed body that can be read once is needed again, for a redirect, a retry or a
    /// challenge. If it returns `nil`, the request fails with `.bodyUnavailable`.
    public var newBodyStream: (@Sendable (Request) async -> BodySource?)?

    /// Returns the request to follow a redirect with, or `nil` to deliver the redirect itself. It is not called if the
    /// session or the request has a `RedirectHandler`.
    public var redirect:
        (@Sendable (_ task: TaskIdentifier, _ response: HTTPURLResponse, _ proposed: URLRequest) async -> URLRequest?)?

    /// Decides what to do with a response when its head has arrived.
    public var responseDisposition:
        (@Sendable (_ request: Request, _ response: HTTPURLResponse) async -> Request.ResponseDisposition)?

    /// Called when the body of a data request begins to be written to a file, which is at `file` until it is accepted.
    public var didBecomeDownload: (@Sendable (_ request: DataRequest, _ file: URL) -> Void)?

    /// Returns the destination of a download, or `nil` to use the request's own.
    public var downloadDestination:
        (
            @Sendable (_ request: Request, _ temporaryURL: URL, _ response: HTTPURLResponse) -> (
                destinationURL: URL, options: DownloadRequest.Options
            )?
        )?

    /// Decides how to answer a server that demands credentials (status 401).
    public var challenge: (@Sendable (ServerChallenge) async -> ServerChallenge.Answer)?

    /// Creates hooks that decide nothing.
    public init() {}
}

extension SessionConfiguration {
    /// Closures that make decisions for every request.
    public var hooks: SessionHooks? {
        get { decisions as? SessionHooks }
        set { decisions = newValue }
    }
}

extension SessionHooks: SessionDecisions {
    package var redirectHandler: (any RedirectHandler)? { redirect.map(HookedRedirects.init(decide:)) }

    package var credentials:
        (
            @Sendable (Request, HTTPURLResponse, [AuthenticationChallenge], Int) async
                -> Result<TransferAuthentication?, any Error>
        )?
    {
        guard let challenge else { return nil }
        return { request, response, challenges, failureCount in
            guard failureCount < ServerChallenge.limit else { return .success(nil) }
            let demand = ServerChallenge(
                request: request, response: response, challenges: challenges, failureCount: failureCount)
            switch await challenge(demand) {
            case .use(let authentication): return .success(authentication)
            case .deliver: return .success(nil)
            case .cancel:
                request.cancel()
                return .success(nil)
            case .fail(let error): return .failure(error)
            }
        }
    }
}

private struct HookedRedirects: RedirectHandler {
    let decide: @Sendable (TaskIdentifier, HTTPURLResponse, URLRequest) async -> URLRequest?

    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        await decide(task, response, request)
    }
}

/// A server's demand for credentials.
public struct ServerChallenge: Sendable {
    /// The answer to a challenge.
    public enum Answer: Sendable {
        /// Send the request again with these credentials.
        case use(TransferAuthentication)
        /// Deliver the response to the challenged request as it is.
        case deliver
        /// Cancel the request.
        case cancel
        /// End the request with `.authenticationFailed` and this error as `underlying`.
        case fail(any Error)

        /// Send the request again with these credentials.
        public static func use(_ credential: URLCredential) -> Answer {
            .use(TransferAuthentication(username: credential.user ?? "", password: credential.password ?? ""))
        }
    }

    /// The maximum number of answers for one request. The next challenge is delivered as the response.
    public static let limit = 5

    /// The request that was challenged.
    public let request: Request
    /// The response that demands credentials.
    public let response: HTTPURLResponse
    /// The challenges that the server offers, in its order.
    public let challenges: [AuthenticationChallenge]
    /// The number of answers to this request that the server did not accept.
    public let failureCount: Int
}
