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
