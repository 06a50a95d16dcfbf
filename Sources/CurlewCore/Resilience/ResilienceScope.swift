/// The requests that share a limit or a circuit breaker.
///
///     RateLimit.requests(50, per: .seconds(1), per: .key { $0.headers.value(for: "X-Tenant") ?? "none" })
public struct ResilienceScope: Sendable {
    private enum Kind: Sendable {
        case origin
        case session
        case key(@Sendable (TransferRequest) -> String)
    }

    private let kind: Kind

    /// The requests of the session to one origin: scheme, host and port of the first URL of an attempt. The default.
    public static let origin = ResilienceScope(kind: .origin)
    /// All requests of the session.
    public static let session = ResilienceScope(kind: .session)

    /// The requests of the session for which the closure returns the same text. It is called before each attempt, and
    /// before each second copy of ``Hedging``, with the adapted request, whose `headers` are without the session's
    /// fields. It must not block, and return the same text for the same request.
    public static func key(_ key: @escaping @Sendable (_ request: TransferRequest) -> String) -> ResilienceScope {
        ResilienceScope(kind: .key(key))
    }

    /// Returns the name that all requests have that share with this one. `origin` is the name of its origin.
    package func name(of request: TransferRequest, origin: String) -> String {
        switch kind {
        case .origin: origin
        case .session: "session"
        case .key(let key): key(request)
        }
    }
}
