public import Foundation

/// The reason for which an authorization server has refused a request (RFC 6749, 4.1.2.1 and 5.2; RFC 8628, 3.5).
///
/// ```swift
/// if error.oauth2Error?.code == .invalidGrant {
///     // The refresh token has expired or was revoked: the user has to log in again.
/// }
/// ```
public struct OAuth2Error: Error, Sendable, Hashable {
    /// The kind of refusal, as the server names it.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A parameter is missing, repeated or malformed.
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The client is unknown, or its secret is wrong.
        public static let invalidClient = Self(rawValue: "invalid_client")
        /// The authorization code, refresh token or device code is invalid, expired or revoked, or of another client.
        public static let invalidGrant = Self(rawValue: "invalid_grant")
        /// The client may not use this grant.
        public static let unauthorizedClient = Self(rawValue: "unauthorized_client")
        /// The server does not know this grant.
        public static let unsupportedGrantType = Self(rawValue: "unsupported_grant_type")
        /// The scope is unknown, malformed, or more than was granted.
        public static let invalidScope = Self(rawValue: "invalid_scope")
        /// The user or the server has refused.
        public static let accessDenied = Self(rawValue: "access_denied")
        /// The server does not issue authorization codes in this way.
        public static let unsupportedResponseType = Self(rawValue: "unsupported_response_type")
        /// The server has failed.
        public static let serverError = Self(rawValue: "server_error")
        /// The server is overloaded or being maintained.
        public static let temporarilyUnavailable = Self(rawValue: "temporarily_unavailable")
        /// The user has not decided about the device yet.
        public static let authorizationPending = Self(rawValue: "authorization_pending")
        /// The user has not decided about the device yet, and the client asks too often.
        public static let slowDown = Self(rawValue: "slow_down")
        /// The user did not decide about the device in time.
        public static let expiredToken = Self(rawValue: "expired_token")

        /// Whether the code is one of those above, rather than a text that the server has made up.
        package var isRegistered: Bool { Self.registered.contains(self) }

        private static let registered: Set = [
            invalidRequest, invalidClient, invalidGrant, unauthorizedClient, unsupportedGrantType, invalidScope,
            accessDenied, unsupportedResponseType, serverError, temporarilyUnavailable, authorizationPending, slowDown,
            expiredToken,
        ]
    }

    /// The kind of refusal.
    public let code: Code
    /// The server's explanation for developers, without the secrets that were sent to it; `nil` if it gives none.
    public let details: String?
    /// A page that explains the error; `nil` if the server names none.
    public let uri: URL?

    /// Creates an error.
    public init(_ code: Code, details: String? = nil, uri: URL? = nil) {
        self.code = code
        self.details = details
        self.uri = uri
    }
}

extension OAuth2Error: CustomStringConvertible, LocalizedError {
    /// The code and the beginning of the server's explanation.
    public var description: String {
        let name = Redaction.excerpt(of: code.rawValue, limit: 80)
        guard let details, !details.isEmpty else { return name }
        return "\(name): \(Redaction.excerpt(of: details, limit: 200))"
    }

    public var errorDescription: String? { description }
}

extension CurlewError {
    /// The authorization server's reason, if the request failed because no token could be obtained for it.
    public var oauth2Error: OAuth2Error? {
        var next = underlying
        while let error = next {
            if let error = error as? OAuth2Error { return error }
            next = (error as? CurlewError)?.underlying
        }
        return nil
    }

    /// The authorization server has refused a request.
    package static func refused(_ error: OAuth2Error, url: URL, status: Int?) -> CurlewError {
        CurlewError(
            .authenticationFailed, phase: .validation, reason: "the authorization server refused: \(error)", url: url,
            underlying: error, responseCode: status)
    }
}
