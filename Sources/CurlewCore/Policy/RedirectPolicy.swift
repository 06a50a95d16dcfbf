/// How far redirects are followed, and what goes along to another origin.
public struct RedirectPolicy: Sendable, Hashable {
    /// Most redirects of one request; one more is `.tooManyRedirects`. A loop ends there, too.
    public var limit: Int
    /// Names of further headers with secrets. They are dropped when a redirect leaves the origin, as every header is whose
    /// name says that it is secret: `Authorization`, `Cookie`, `X-Api-Key`, `Private-Token`, `X-Amz-Security-Token`, ….
    /// curl commands, archives and the descriptions of responses leave their values out.
    public var sensitiveHeaders: [String]
    /// Whether https may lead to http. Otherwise that is `.redirectRefused`.
    public var allowsInsecure: Bool

    /// Names of headers that go along to another origin although their names say that they are secret.
    /// `Host` never does.
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
    /// Whether a header stays behind when a redirect leaves the origin.
    package func staysBehind(_ header: HTTPHeader) -> Bool {
        func names(_ list: [String]) -> Bool { list.contains { ASCII.equalsIgnoringCase($0, header.name) } }
        if ASCII.equalsIgnoringCase(header.name, "Host") { return true }
        if names(sensitiveHeaders) { return true }
        return SecretNames.contains(header) && !names(forwardedHeaders)
    }
}
