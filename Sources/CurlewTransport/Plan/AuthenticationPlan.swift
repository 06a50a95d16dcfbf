internal import CCurl
internal import CurlewCore

/// Translates a request's credentials into options.
enum AuthenticationPlan {
    static func options(
        _ authentication: TransferAuthentication, _ capabilities: Capabilities, over version: HTTPVersionPolicy
    ) throws(CurlewError) -> [OptionValue] {
        try check([authentication.username, authentication.password])
        var bits: UInt
        switch authentication.scheme {
        case .any:
            bits = CurlAuth.basic | CurlAuth.digest
            if !version.excludesHTTP1 {
                if capabilities.features.contains("NTLM") { bits |= CurlAuth.ntlm }
                if capabilities.features.contains("SPNEGO") { bits |= CurlAuth.negotiate }
            }
        case .basic: bits = CurlAuth.basic
        case .digest: bits = CurlAuth.digest
        case .ntlm:
            try require(.ntlm, capabilities, version)
            bits = CurlAuth.ntlm
        case .negotiate:
            try require(.negotiate, capabilities, version)
            bits = CurlAuth.negotiate
        case .bearer:
            return [
                .long(CURLOPT_HTTPAUTH, Int(CurlAuth.bearer)),
                .string(CURLOPT_XOAUTH2_BEARER, authentication.password),
            ]
        // The signature is a header field, see `SignedRequest`.
        case .awsSigV4: return [.long(CURLOPT_HTTPAUTH, 0)]
        }
        return [
            .long(CURLOPT_HTTPAUTH, Int(bits)),
            .string(CURLOPT_USERNAME, authentication.username),
            .string(CURLOPT_PASSWORD, authentication.password),
        ]
    }

    /// The scope in which a scheme authenticates its user.
    enum Scope {
        /// The request that carries the credentials.
        case request
        /// The connection, if the server's challenge offers NTLM or Negotiate.
        case connectionIfOffered
        /// The connection: the server attributes every later request on it to the same user.
        case connection
    }

    static func scope(
        of scheme: TransferAuthentication.Scheme, _ capabilities: Capabilities, over version: HTTPVersionPolicy
    ) -> Scope {
        switch scheme {
        case .basic, .digest, .bearer, .awsSigV4: return .request
        case .ntlm, .negotiate: return .connection
        case .any:
            let mayAuthenticateConnection = !capabilities.features.isDisjoint(with: ["NTLM", "SPNEGO"])
            guard mayAuthenticateConnection, !version.excludesHTTP1 else { return .request }
            return capabilities.quirks.asksBeforeSending ? .connectionIfOffered : .connection
        }
    }

    private static func require(
        _ scheme: ConditionalFeature, _ capabilities: Capabilities, _ version: HTTPVersionPolicy
    ) throws(CurlewError) {
        // These schemes authenticate a whole connection, which requests of many users share over HTTP/2 and HTTP/3.
        guard !version.excludesHTTP1 else {
            throw .unsupported(feature: "\(scheme.name) over HTTP/2 or HTTP/3 alone", needs: "HTTP/1.1")
        }
        try capabilities.require(scheme)
    }

    /// Throws if a part has characters that a field value must not have. libcurl writes a token or a user name into a
    /// header line unchanged, and cuts every text at a NUL.
    static func check(_ parts: [String?]) throws(CurlewError) {
        for case let part? in parts where !part.isHTTPFieldValue {
            throw CurlewError(
                .invalidHeader,
                phase: .creation,
                reason: "the credentials have characters that HTTP does not allow"
            )
        }
    }
}

extension HTTPVersionPolicy {
    /// Whether every connection speaks HTTP/2 or HTTP/3, so that many requests share it.
    var excludesHTTP1: Bool {
        switch self {
        case .automatic, .http1_1, .http2: false
        case .http2PriorKnowledge, .http3: true
        }
    }
}

/// libcurl's CURLAUTH_* bits. The macros of the header contain casts, which Swift does not import.
enum CurlAuth {
    static let basic: UInt = 1
    static let digest: UInt = 1 << 1
    static let negotiate: UInt = 1 << 2
    static let ntlm: UInt = 1 << 3
    static let bearer: UInt = 1 << 6
    static let awsSigV4: UInt = 1 << 7
    static let digestIE: UInt = 1 << 4
    static let any = ~digestIE
}
