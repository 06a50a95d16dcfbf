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

    /// Names of headers that are sent to another origin although their names mark them as secret. `Host` is never sent
    /// along.
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
    /// Whether a header is dropped when a redirect leaves the origin.
    package func staysBehind(_ header: HTTPHeader) -> Bool {
        func names(_ list: [String]) -> Bool { list.contains { ASCII.equalsIgnoringCase($0, header.name) } }
        if ASCII.equalsIgnoringCase(header.name, "Host") { return true }
        if names(sensitiveHeaders) { return true }
        return SecretNames.contains(header) && !names(forwardedHeaders)
    }
}
