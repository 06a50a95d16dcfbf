internal import CCurl
internal import CurlewCore

/// Credentials as options.
enum AuthenticationPlan {
    static func options(_ authentication: TransferAuthentication, _ capabilities: Capabilities)
        throws(CurlewError) -> [OptionValue]
    {
        try check([authentication.username, authentication.password])
        var bits: UInt
        switch authentication.scheme {
        case .any:
            bits = CurlAuth.basic | CurlAuth.digest
            if capabilities.features.contains("NTLM") { bits |= CurlAuth.ntlm }
            if capabilities.features.contains("SPNEGO") { bits |= CurlAuth.negotiate }
        case .basic: bits = CurlAuth.basic
        case .digest: bits = CurlAuth.digest
        case .ntlm:
            try capabilities.require(.ntlm)
            bits = CurlAuth.ntlm
        case .negotiate:
            try capabilities.require(.negotiate)
            bits = CurlAuth.negotiate
        case .bearer:
            return [
                .long(CURLOPT_HTTPAUTH, Int(CurlAuth.bearer)),
                .string(CURLOPT_XOAUTH2_BEARER, authentication.password),
            ]
        // The signature is one of the request's fields: see SignedRequest.
        case .awsSigV4: return [.long(CURLOPT_HTTPAUTH, 0)]
        }
        return [
            .long(CURLOPT_HTTPAUTH, Int(bits)),
            .string(CURLOPT_USERNAME, authentication.username),
            .string(CURLOPT_PASSWORD, authentication.password),
        ]
    }

    /// The scope in which a scheme authenticates its user.
    enum Reach {
        /// The request that carries the credentials.
        case request
        /// The connection, if the server's challenge offers NTLM or Negotiate.
        case connectionIfOffered
        /// The connection: a server takes whatever comes over it later for the same user's.
        case connection
    }

    /// Returns the capabilities without NTLM and Negotiate if the protocol is always HTTP/2 or HTTP/3: these schemes authenticate a
    /// whole connection, and such a connection has many users.
    static func capabilities(_ capabilities: Capabilities, over version: HTTPVersionPolicy) -> Capabilities {
        switch version {
        case .automatic, .http1_1, .http2: return capabilities
        case .http2PriorKnowledge, .http3:
            var capabilities = capabilities
            capabilities.features.subtract(["NTLM", "SPNEGO"])
            return capabilities
        }
    }

    static func reach(of scheme: TransferAuthentication.Scheme, _ capabilities: Capabilities) -> Reach {
        switch scheme {
        case .basic, .digest, .bearer, .awsSigV4: .request
        case .ntlm, .negotiate: .connection
        case .any where capabilities.features.isDisjoint(with: ["NTLM", "SPNEGO"]): .request
        // Before 7.80 libcurl does not ask before it answers.
        case .any: capabilities.isAtLeast(7, 80, 0) ? .connectionIfOffered : .connection
        }
    }

    /// libcurl writes a token or a user name into a header line as it is, and cuts every text at a NUL.
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
