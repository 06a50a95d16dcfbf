public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Gets tokens from an OAuth 2 authorization server, adds them to requests, and replaces them before they expire
/// (RFC 6749).
///
/// ```swift
/// let client = OAuth2Client(tokenURL: tokenURL, clientID: "app", clientSecret: secret, scopes: ["read"])
/// let api = Session(interceptor: client.interceptor())
/// let user = try await api.request("https://api.example.com/me").decode(User.self)
/// ```
///
/// A token of a user, from ``token(code:pkce:)`` or ``token(for:)``, is passed as the interceptor's credential. It is
/// replaced with its refresh token, never with one of the client itself. If there is none, or the server rejects it,
/// the request fails with ``CurlewError/oauth2Error`` or `authenticationFailed`: the user has to log in again. An
/// interceptor does not send a refresh token again that the server has declared void: requests fail at once, or at
/// their 401, until the interceptor's `credential` is set.
///
/// Token requests go over `Session.default`, or a session of your own, even that of the interceptor: they carry the
/// client's own credentials, never a token. They do not follow redirects, and are not repeated unless that session's
/// retrier says so. Repeating the use of a refresh token can revoke it.
public final class OAuth2Client: Authenticator {
    /// The way in which the client proves its identity (RFC 6749, 2.3).
    public enum ClientAuthentication: Sendable, Hashable {
        /// `Authorization: Basic` with id and secret.
        case basic
        /// Id and secret in the form.
        case form
        /// The id alone, for clients that cannot keep a secret.
        case none
    }

    let settings: OAuth2Settings
    /// The session for token requests.
    let session: Session
    let refreshes = Lock(OAuth2Refreshes())
    let changes: OAuth2Changes

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - tokenURL: The token endpoint. Calls that need an endpoint fail with `requestCreationFailed` if it is not an
    ///     https URL, or an http URL whose host is `localhost` or a loopback address. The latter is reached without a
    ///     proxy.
    ///   - clientID: The client's id.
    ///   - clientSecret: The client's secret; `nil` if it has none.
    ///   - authentication: The way in which id and secret are sent. Without a secret, the id is sent in the form.
    ///   - scopes: The scopes to ask for.
    ///   - authorizationURL: The page where a user logs in, for ``authorizationURL(state:pkce:parameters:)``.
    ///   - deviceAuthorizationURL: The endpoint of device logins, for ``authorizeDevice()``.
    ///   - redirectURL: The URL to which the authorization server sends the user's browser back.
    ///   - issuer: The identifier of an authorization server that sends it with each redirect (RFC 9207). A redirect
    ///     with another one, or without one, is refused; `nil` accepts all.
    ///   - parameters: Further parameters of token requests, such as `audience` or `resource`.
    ///   - expirySkew: The time before its end at which a token is replaced; at most half of its life.
    ///   - session: The session for token requests; `nil` is `Session.default`.
    ///   - onChange: Called with each new token and the one that it replaces, before a request uses the new one, for
    ///     instance to store it. With a server that rotates refresh tokens, the former one is void. Without a former
    ///     token, it is a new login, or the client's first token. The calls of a client follow one another. A refresh
    ///     may end after another user has logged in, or after a logout: store its token only in the place of the
    ///     former one. Requests that the closure sends over the interceptor's session carry the former token. It must
    ///     not wait for a call of this client that runs in another task.
    public init(
        tokenURL: URL,
        clientID: String,
        clientSecret: String? = nil,
        authentication: ClientAuthentication = .basic,
        scopes: [String] = [],
        authorizationURL: URL? = nil,
        deviceAuthorizationURL: URL? = nil,
        redirectURL: URL? = nil,
        issuer: String? = nil,
        parameters: [String: String] = [:],
        expirySkew: Duration = .seconds(60),
        session: Session? = nil,
        onChange: (@Sendable (_ new: OAuth2Token, _ former: OAuth2Token?) async -> Void)? = nil
    ) {
        settings = OAuth2Settings(
            tokenURL: tokenURL.absoluteURL, authorizationURL: authorizationURL,
            deviceAuthorizationURL: deviceAuthorizationURL?.absoluteURL,
            redirectURL: redirectURL, issuer: issuer, clientID: clientID, clientSecret: clientSecret,
            authentication: clientSecret == nil ? .none : authentication,
            scope: scopes.isEmpty ? nil : scopes.joined(separator: " "), parameters: parameters, expirySkew: expirySkew)
        self.session = session ?? .default
        changes = OAuth2Changes(onChange)
    }

    /// Copies a client and replaces its clock, for tests.
    init(_ other: OAuth2Client, time: OAuth2Settings.Time) {
        var settings = other.settings
        settings.time = time
        (self.settings, session, changes) = (settings, other.session, other.changes)
    }

    /// Returns an interceptor that adds a token to requests, and replaces it once for all of them. Without a
    /// credential, the first request gets one with the client's own id and secret.
    public func interceptor(
        credential: OAuth2Token? = nil,
        refreshWindow: AuthenticationInterceptor<OAuth2Client>.RefreshWindow? = .init()
    ) -> AuthenticationInterceptor<OAuth2Client> {
        AuthenticationInterceptor(
            authenticator: self, credential: credential ?? .unissued, refreshWindow: refreshWindow)
    }

    // MARK: Tokens

    /// Returns a token for the client itself (RFC 6749, 4.4). Each call asks the server; the requests of one `interceptor`
    /// share a token.
    public func token() async throws(CurlewError) -> OAuth2Token { try await ownToken(replacing: nil) }

    private func ownToken(replacing former: OAuth2Token?) async throws(CurlewError) -> OAuth2Token {
        var form = OAuth2Parameters(["grant_type": OAuth2Token.Grant.clientCredentials.rawValue])
        form["scope"] = settings.scope
        return try await requestToken(form, .clientCredentials, replacing: former)
    }

    /// Returns a token that replaces an expired one. It is obtained with the refresh token (RFC 6749, 6), or, for a
    /// token of the client itself, with id and secret.
    ///
    /// If the task is cancelled, the call fails at once. A refresh token that the server has replaced by then is not
    /// lost: `onChange` gets the new one. The same applies to all calls that return a token. A call with a refresh
    /// token that the client is exchanging already waits for that exchange. For one minute after an exchange in which
    /// the server has replaced the refresh token, a call with the former one returns the new token.
    public func token(refreshing token: OAuth2Token) async throws(CurlewError) -> OAuth2Token {
        // An empty one, for instance from a store, cannot be sent, and must not be shared by the callers that have it.
        if let refreshToken = token.refreshToken, !refreshToken.isEmpty {
            do throws(CurlewError) {
                let form = OAuth2Parameters(["grant_type": "refresh_token", "refresh_token": refreshToken])
                return try await requestToken(form, token.grant, replacing: token, refreshToken: refreshToken)
            } catch {
                guard token.grant == .clientCredentials, error.oauth2Error?.code == .invalidGrant else { throw error }
            }
        }
        guard token.grant == .clientCredentials else {
            throw CurlewError(
                .authenticationFailed, phase: .creation,
                reason: "the token has expired and there is no refresh token: the user has to log in again",
                url: settings.tokenURL)
        }
        // `unissued` stands for no token, so nothing is replaced.
        return try await ownToken(replacing: token.accessToken.isEmpty ? nil : token)
    }

    // MARK: Users

    /// Returns the page where a user logs in (RFC 6749, 4.1.1).
    ///
    /// The server returns `state` with its answer, which proves that the answer belongs to this login: use a random
    /// text each time, and store it with `pkce` in the user's session. `parameters` are further ones, such as `prompt`
    /// or `nonce`.
    public func authorizationURL(
        state: String, pkce: PKCE? = nil, parameters: [String: String] = [:]
    ) throws(CurlewError) -> URL {
        let endpoint = try settings.endpoint(settings.authorizationURL, "authorizationURL")
        var query = OAuth2Parameters(["response_type": "code", "client_id": settings.clientID])
        query["redirect_uri"] = settings.redirectURL?.absoluteString
        query["scope"] = settings.scope
        query["state"] = state
        if let pkce {
            query["code_challenge"] = pkce.challenge
            query["code_challenge_method"] = PKCE.method
        }
        query.add(parameters)
        guard let url = query.appended(to: endpoint) else { throw .invalidURL(endpoint.absoluteString) }
        return url
    }

    /// Returns the token of the user whom the authorization server has sent back to `redirect`. `state` and `pkce` are
    /// those of the login.
    ///
    /// Fails with `authenticationFailed` if the user has refused, or if the redirect has another state or issuer,
    /// because it may then be forged.
    public func token(
        redirectedTo redirect: URL, state: String, pkce: PKCE? = nil
    ) async throws(CurlewError) -> OAuth2Token {
        func failed(_ reason: String) -> CurlewError {
            CurlewError(.authenticationFailed, phase: .validation, reason: reason, url: redirect)
        }
        switch OAuth2Redirect(redirect, state: state, issuer: settings.issuer) {
        case .code(let code): return try await token(code: code, pkce: pkce)
        case .refused(let error): throw .refused(error, url: redirect, status: nil)
        case .foreign(let parameter):
            throw failed(
                "the redirect does not belong to this login: the parameter \"\(parameter)\" is missing or differs")
        case .malformed:
            throw failed("the redirect has neither a code nor an error, or a repeated or undecodable parameter")
        }
    }

    /// Returns the token for an authorization code (RFC 6749, 4.1.3). A code can be used once.
    public func token(code: String, pkce: PKCE? = nil) async throws(CurlewError) -> OAuth2Token {
        var form = OAuth2Parameters(["grant_type": OAuth2Token.Grant.authorizationCode.rawValue, "code": code])
        form["redirect_uri"] = settings.redirectURL?.absoluteString
        form["code_verifier"] = pkce?.verifier
        return try await requestToken(form, .authorizationCode)
    }

    // MARK: Devices

    /// Begins a login that a user completes on another device (RFC 8628).
    public func authorizeDevice() async throws(CurlewError) -> OAuth2DeviceLogin {
        let url = try settings.endpoint(settings.deviceAuthorizationURL, "deviceAuthorizationURL")
        var form = OAuth2Parameters()
        form["scope"] = settings.scope
        // RFC 8628, 3.1. With Basic alone, some servers do not find the client.
        form["client_id"] = settings.clientID
        return try await send(form, to: url).deviceLogin(at: settings.time.now(), settings.time.instant())
    }

    /// Returns the user's token as soon as the user has confirmed the login, which may take minutes.
    ///
    /// It asks at the pace that the server wants. A login that is refused or expires fails with `authenticationFailed`
    /// and ``OAuth2Error/Code/accessDenied`` or ``OAuth2Error/Code/expiredToken``.
    public func token(for login: OAuth2DeviceLogin) async throws(CurlewError) -> OAuth2Token {
        let form = OAuth2Parameters([
            "grant_type": OAuth2Token.Grant.deviceCode.rawValue, "device_code": login.deviceCode,
        ])
        var polling = DevicePolling(interval: login.interval)
        while true {
            let left = settings.time.instant().duration(to: login.deadline)
            guard left > .zero else { throw .refused(OAuth2Error(.expiredToken), url: settings.tokenURL, status: nil) }
            guard await settings.time.pause(min(polling.interval, left)) else { throw .cancelled }
            do throws(CurlewError) {
                return try await requestToken(form, .deviceCode)
            } catch {
                guard polling.continues(after: error) else { throw error }
            }
        }
    }

    // MARK: Authenticator

    /// Adds `Authorization: Bearer …`, also to a request of your own for the token URL. The client's token requests
    /// carry its own credentials instead.
    public func apply(_ credential: OAuth2Token, to urlRequest: inout URLRequest) {
        guard !credential.accessToken.isEmpty, !UserCode.isForTokenRequest else { return }
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    /// Gets a new token. An interceptor calls it once for all requests that wait.
    public func refresh(_ credential: OAuth2Token, for session: Session) async throws -> OAuth2Token {
        try await token(refreshing: credential)
    }

    /// Whether the status is 401 and the request carried a token. With 403, another token would not help. A request
    /// without a token has lost it at a redirect, which would drop the next one as well.
    public func didRequest(
        _ urlRequest: URLRequest,
        with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
            && urlRequest.headers["Authorization"]?.hasPrefix("Bearer ") == true
    }

    /// Whether the server has declared the refresh token of a user void, with the status 400 or 401: the user has to
    /// log in again.
    public func isFinal(_ error: any Error, refreshing credential: OAuth2Token) -> Bool {
        // The client itself can get another token with its id and secret. `oauth2Error` is not used here, because it
        // also finds a refusal inside another error, whose status is not the refusal's.
        guard credential.grant != .clientCredentials, let error = error as? CurlewError,
            (error.underlying as? OAuth2Error)?.code == .invalidGrant
        else { return false }
        // RFC 6749, 5.2. A server or gateway that fails says nothing about the token.
        return error.responseCode == 400 || error.responseCode == 401
    }

    /// Whether the request carries this token.
    public func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: OAuth2Token) -> Bool {
        urlRequest.headers["Authorization"] == HTTPHeader.authorization(bearerToken: credential.accessToken).value
    }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
    /// The token endpoint, without the client's secret.
    public var description: String { "OAuth 2 client at \(Redaction.redacted(settings.tokenURL).absoluteString)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OAuth2Token: AuthenticationCredential {
    /// Whether the token must be replaced before it is used.
    public var requiresRefresh: Bool { requiresRefresh(at: Date()) }
}

/// A secret that ties an authorization code to the client that has asked for it (RFC 7636).
///
/// ```swift
/// let pkce = try PKCE()
/// let page = try client.authorizationURL(state: state, pkce: pkce)
/// // … the user logs in, and the browser comes back with a code …
/// let token = try await client.token(code: code, pkce: pkce)
/// ```
///
/// Store `verifier` until the code has arrived, for instance in the user's session.
public struct PKCE: Sendable, Hashable {
    /// The secret: 43 to 128 letters, digits, `-`, `.`, `_` and `~`.
    public let verifier: String
    /// The SHA-256 of the verifier, which is part of the authorization request.
    public let challenge: String
    /// The name of the method that derives the challenge from the verifier.
    public static let method = "S256"

    /// Creates a random verifier with 256 bits. Throws if libcrypto has no SHA-256.
    public init() throws(CurlewError) {
        var generator = SystemRandomNumberGenerator()
        try self.init(verifier: Self.base64URL((0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }))
    }

    /// Uses a stored verifier. Throws if it is not valid.
    public init(verifier: String) throws(CurlewError) {
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(Self.isPermitted) else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation,
                reason: "a code verifier has 43 to 128 letters, digits, -, ., _ and ~")
        }
        let digest = try Digest(.sha256)
        var text = verifier
        text.withUTF8 { digest.update(UnsafeRawBufferPointer($0)) }
        self.verifier = verifier
        challenge = Self.base64URL(digest.finish())
    }

    /// Base64 for URLs, without padding (RFC 4648, 5).
    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func isPermitted(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "-._~".utf8.contains(byte)
    }
}

extension PKCE: CustomStringConvertible, CustomReflectable {
    /// The challenge, without the verifier.
    public var description: String { "\(Self.method) \(challenge)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
