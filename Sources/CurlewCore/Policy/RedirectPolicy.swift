package import Foundation

/// Limits on following redirects, and on the headers that are sent to another origin.
public struct RedirectPolicy: Sendable, Hashable {
    /// The maximum number of redirects of one request. One more fails with `.tooManyRedirects`, and so does a loop.
    public var limit: Int
    /// Names of further headers that contain secrets.
    ///
    /// They are dropped when a redirect leaves the origin, like every header whose name marks it as secret:
    /// `Authorization`, `Cookie`, `X-Api-Key`, `Private-Token`, `X-Amz-Security-Token`, …. curl commands, archives and
    /// the descriptions of responses leave their values out.
    public var sensitiveHeaders: [String]
    /// Whether a redirect may lead from https to http. If not, it fails with `.redirectRefused`.
    public var allowsInsecure: Bool
    /// Names of headers that are sent to another origin although their names mark them as secret. `Host` and
    /// `sensitiveHeaders` are never sent along.
    public var forwardedHeaders: [String]

    /// Creates a policy.
    public init(
        limit: Int = 20,
        sensitiveHeaders: [String] = [],
        allowsInsecure: Bool = false,
        forwardedHeaders: [String] = []
    ) {
        self.limit = limit
        self.sensitiveHeaders = sensitiveHeaders
        self.allowsInsecure = allowsInsecure
        self.forwardedHeaders = forwardedHeaders
    }
}

extension RedirectPolicy {
    /// Decides about a response by the rules of RFC 9110, 15.4 and of the Fetch standard.
    ///
    /// `upgrade` turns http into https for hosts that demand it. It is applied before schemes and origins are compared
    /// (RFC 6797, 8.3).
    package func action(
        for head: ResponseHead,
        answering source: RedirectSource,
        upgrading upgrade: (URL) throws(CurlewError) -> URL = { $0 }
    ) -> RedirectAction {
        guard HTTPStatus(head.status).isRedirect, let location = head.headers.value(for: "Location"),
            !location.utf8.allSatisfy(ASCII.isBlank)
        else { return .deliver }

        func refuse(_ code: CurlewError.Code, _ reason: String) -> RedirectAction {
            .refuse(
                CurlewError(code, phase: .redirect, reason: reason, url: source.url, responseCode: head.status))
        }
        guard Set(head.headers.values(for: "Location")).count == 1 else {
            return refuse(.redirectRefused, "the response has several Location headers that differ")
        }
        guard source.hops < limit else {
            return refuse(.tooManyRedirects, "more than \(limit) redirects")
        }
        let reference = source.opensWebSocket ? RedirectLocation.withHTTPScheme(location) : location
        guard let resolved = RedirectLocation.resolve(reference, against: source.url) else {
            return refuse(.redirectRefused, "the redirect leads to no http or https URL")
        }
        let url: URL
        do throws(CurlewError) { url = try upgrade(resolved) } catch { return .refuse(error) }
        let leavesTLS = source.url.scheme?.lowercased() == "https" && url.scheme?.lowercased() == "http"
        guard !leavesTLS || allowsInsecure else {
            return refuse(.redirectRefused, "the redirect leads from https to http")
        }

        let method = Self.method(after: head.status, for: source.method)
        let dropsBody = method != source.method
        if !dropsBody, source.hasBody, !source.isBodyReplayable {
            return refuse(.bodyUnavailable, "the redirect needs the body again, which cannot be read twice")
        }
        let leavesOrigin = !RedirectLocation.isSameOrigin(source.url, url)
        return .follow(Redirect(url: url, method: method, leavesOrigin: leavesOrigin, dropsBody: dropsBody))
    }

    private static func method(after status: Int, for method: HTTPMethod) -> HTTPMethod {
        switch status {
        case 301, 302: method == .post ? .get : method
        case 303: method == .head ? .head : .get
        default: method
        }
    }
}

extension RedirectPolicy {
    /// Whether a header is dropped when a redirect leaves the origin.
    package func staysBehind(_ header: HTTPHeader) -> Bool {
        func names(_ list: [String]) -> Bool { list.contains { ASCII.equalsIgnoringCase($0, header.name) } }
        if ASCII.equalsIgnoringCase(header.name, "Host") { return true }
        if names(sensitiveHeaders) { return true }
        return SecretNames.contains(header) && !names(forwardedHeaders)
    }
}

/// The properties of a request on which the decision about a redirect depends.
package struct RedirectSource: Sendable {
    package var url: URL
    package var method: HTTPMethod
    package var hasBody: Bool
    package var isBodyReplayable: Bool
    /// The number of redirects followed before this response.
    package var hops: Int
    /// Whether the request is a WebSocket handshake, whose redirects may lead to ws and wss URLs.
    package var opensWebSocket: Bool

    package init(url: URL, method: HTTPMethod, body: BodySource, hops: Int, opensWebSocket: Bool = false) {
        self.url = url
        self.method = method
        if case .none = body { hasBody = false } else { hasBody = true }
        isBodyReplayable = body.isReplayable
        self.hops = hops
        self.opensWebSocket = opensWebSocket
    }
}

/// The decision about a response that may be a redirect.
package enum RedirectAction: Sendable {
    /// The response is not a redirect to follow; deliver it.
    case deliver
    case follow(Redirect)
    case refuse(CurlewError)
}

/// The next request of a redirect chain, described by its differences from the previous one.
package struct Redirect: Sendable, Equatable {
    package var url: URL
    package var method: HTTPMethod
    /// Whether the scheme, host or port differs, so that secrets must not be sent along.
    package var leavesOrigin: Bool
    package var dropsBody: Bool

    /// Returns the names of the request's and the session's headers that the next request must not have.
    package func headersToRemove(from headers: HTTPHeaders, by policy: RedirectPolicy) -> [String] {
        headers.filter { header in
            dropsBody && Self.bodyHeaders.contains { ASCII.equalsIgnoringCase($0, header.name) }
                || leavesOrigin && policy.staysBehind(header)
        }.map(\.name)
    }

    private static let bodyHeaders = [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location",
        "Content-Disposition", "Content-MD5", "Transfer-Encoding", "Expect",
    ]
}
