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
            try need("NTLM", capabilities)
            bits = CurlAuth.ntlm
        case .negotiate:
            try need("SPNEGO", capabilities)
            bits = CurlAuth.negotiate
        case .bearer:
            return [
                .long(CURLOPT_HTTPAUTH, Int(CurlAuth.bearer)),
                .string(CURLOPT_XOAUTH2_BEARER, authentication.password),
            ]
        case .awsSigV4(let provider):
            guard capabilities.isAtLeast(7, 75, 0) else {
                throw .unsupported(feature: "AWS Signature V4", needs: "libcurl 7.75")
            }
            try check([provider])
            return [
                .string(CURLOPT_AWS_SIGV4, provider),
                .string(CURLOPT_USERNAME, authentication.username),
                .string(CURLOPT_PASSWORD, authentication.password),
            ]
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

    private static func need(_ feature: String, _ capabilities: Capabilities) throws(CurlewError) {
        guard capabilities.features.contains(feature) else {
            throw .unsupported(feature: "\(feature) authentication", needs: "libcurl built with \(feature)")
        }
    }
}

extension TransferAuthentication {
    /// Whether what is sent is signed.
    var isSignature: Bool {
        if case .awsSigV4 = scheme { true } else { false }
    }
}
