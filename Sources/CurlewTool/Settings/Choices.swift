/// The values of `--auth-type`.
enum AuthScheme: String, CaseIterable, Sendable {
    case basic, bearer, digest, ntlm, negotiate, any
}

/// The values of `--cache-policy`.
enum CachePolicyChoice: String, CaseIterable, Sendable {
    case standard = "default"
    case reload
    case revalidate
    case preferCache = "prefer-cache"
    case onlyCache = "only-cache"
}

/// The values of `--http-version`.
enum HTTPVersionChoice: String, CaseIterable, Sendable {
    case http1_1 = "1.1"
    case http2 = "2"
    case http2PriorKnowledge = "2-prior-knowledge"
    case http3 = "3"
}

/// The values of `--ssl`, with HTTPie's names.
enum TLSVersionChoice: String, CaseIterable, Sendable {
    case v1_0 = "tls1"
    case v1_1 = "tls1.1"
    case v1_2 = "tls1.2"
    case v1_3 = "tls1.3"
}
