public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Decides at certain points of a session's requests, as AFNetworking's block setters do.
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
/// What a request says for itself (`redirect(using:)`, `onHTTPResponse`, `authenticate(with:)`) goes before, except for
/// the download destination, where the session's goes before. The closures run in the task that drives the request or
/// on threads for file work, never on the transport's thread. To watch without deciding use an `EventMonitor`.
public struct SessionHooks: Sendable {
    /// The session was invalidated, or has gone.
    public var sessionDidBecomeInvalid: (@Sendable (SessionReference) -> Void)?

    /// A streamed body that can be read once is needed again: by a redirect that keeps it, a retry or a challenge.
    /// nil ends the request with `.bodyUnavailable`.
    public var newBodyStream: (@Sendable (Request) async -> BodySource?)?

    /// What to do with a redirect; nil delivers the redirect itself. Not asked where the session or the request has a
    /// `RedirectHandler`.
    public var redirect:
        (@Sendable (_ task: TaskIdentifier, _ response: HTTPURLResponse, _ proposed: URLRequest) async -> URLRequest?)?

    /// What to do with a response whose head has come.
    public var responseDisposition:
        (@Sendable (_ request: Request, _ response: HTTPURLResponse) async -> Request.ResponseDisposition)?

    /// A data request's body goes into a file from here on: into `file` until it is accepted.
    public var didBecomeDownload: (@Sendable (_ request: DataRequest, _ file: URL) -> Void)?

    /// Where a download goes, before what it says itself; nil leaves it to that.
    public var downloadDestination:
        (
            @Sendable (_ request: Request, _ temporaryURL: URL, _ response: HTTPURLResponse) -> (
                destinationURL: URL, options: DownloadRequest.Options
            )?
        )?

    /// What to answer a server that wants credentials (status 401).
    public var challenge: (@Sendable (ServerChallenge) async -> ServerChallenge.Answer)?

    /// No hook.
    public init() {}

    /// The hook as what a session asks about redirects.
    var redirectHandler: (any RedirectHandler)? { redirect.map(HookedRedirects.init(decide:)) }
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

/// A server that wants to know who is asking.
public struct ServerChallenge: Sendable {
    /// What to do.
    public enum Answer: Sendable {
        /// Send the request again with these credentials.
        case use(TransferAuthentication)
        /// Take the response as it is.
        case deliver
        /// Cancel the request.
        case cancel
        /// End the request with `.authenticationFailed` and this as `underlying`.
        case fail(any Error)

        /// Send the request again with these credentials.
        public static func use(_ credential: URLCredential) -> Answer {
            .use(TransferAuthentication(username: credential.user ?? "", password: credential.password ?? ""))
        }
    }

    /// How often one request may be answered: the next challenge is delivered.
    public static let limit = 5

    /// The request that was challenged.
    public let request: Request
    /// Its response.
    public let response: HTTPURLResponse
    /// What the server offers, in its order.
    public let challenges: [AuthenticationChallenge]
    /// How many answers this request has had that the server did not accept.
    public let failureCount: Int
}
