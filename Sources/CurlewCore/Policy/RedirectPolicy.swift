/// How far redirects are followed, and what goes along to another origin.
public struct RedirectPolicy: Sendable, Hashable {
    /// Most redirects of one request; one more is `.tooManyRedirects`. A loop ends there, too.
    public var limit: Int
    /// Names of headers with secrets, dropped when a redirect leaves the origin; `Authorization`, `Cookie`,
    /// `Proxy-Authorization` and `Host` always are.
    public var sensitiveHeaders: [String]
    /// Whether https may lead to http. Otherwise that is `.redirectRefused`.
    public var allowsInsecure: Bool

    /// Makes a policy.
    public init(limit: Int = 20, sensitiveHeaders: [String] = [], allowsInsecure: Bool = false) {
        self.limit = limit
        self.sensitiveHeaders = sensitiveHeaders
        self.allowsInsecure = allowsInsecure
    }
}
