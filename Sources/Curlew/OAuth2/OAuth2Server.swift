internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// Sends the requests of an OAuth 2 client to the authorization server.
struct OAuth2Server: Sendable {
    private let settings: OAuth2Settings
    let session: Session
    private let changes: OAuth2Changes
    private let refreshes = Lock(OAuth2Refreshes())

    /// Responses with tokens are small; an error page need not be.
    private static let maximumBodySize = 1024 * 1024

    init(_ settings: OAuth2Settings, _ session: Session) {
        (self.settings, self.session, changes) = (settings, session, OAuth2Changes(settings.onChange))
    }

    /// Asks for a token. Throws `.cancelled` if the caller is cancelled; `onChange` gets the token even then.
    ///
    /// A refresh token is not sent while it is exchanged, for instance for a caller that was cancelled: further callers
    /// wait for that exchange. Nor is it sent again soon after the server has replaced it.
    func token(
        _ form: OAuth2Parameters, _ grant: OAuth2Token.Grant, replacing former: OAuth2Token? = nil
    ) async throws(CurlewError) -> OAuth2Token {
        guard !Task.isCancelled else { throw .cancelled }
        let own = OAuth2Refreshes.Exchange()
        let refreshToken = form["refresh_token"]
        if let refreshToken, let shared = try await shared(refreshToken, or: own) { return shared }
        // In a separate task, which the caller's cancellation does not reach: once the server has the request, the code
        // or refresh token in it may be void, and the token that replaces it would be lost.
        Task {
            let ended = await RequestDeadline.never {
                await UserCode.call(by: .refresh(of: ObjectIdentifier(own))) {
                    await result(form, grant, replacing: former)
                }
            }
            // Before the result is published, because a caller whose exchange has failed may send the refresh token
            // again.
            let now = settings.time.instant()
            if let refreshToken { refreshes.withLock { $0.end(own, for: refreshToken, at: now) } }
            own.resolve(ended)
        }
        return try Self.token(of: await own.wait())
    }

    /// Returns the token of another exchange of the refresh token; `nil` if `own` must send it.
    private func shared(
        _ refreshToken: String, or own: OAuth2Refreshes.Exchange
    ) async throws(CurlewError) -> OAuth2Token? {
        let now = settings.time.instant()
        switch refreshes.withLock({ $0.begin(own, for: refreshToken, at: now) }) {
        case .begun: return nil
        case .replaced(let token): return token
        case .running(let exchange):
            let result = await UserCode.waiting(forRefreshOf: ObjectIdentifier(exchange)) { await exchange.wait() }
            if let result { return try Self.token(of: result) }
            // The exchange waits for this call, as in `onChange`: the call must not wait for it. Its response may have
            // arrived. Otherwise the call needs a token for the exchange's own request, or the server has kept the
            // refresh token.
            return refreshes.withLock { $0.replacement(for: refreshToken, at: now) }
        }
    }

    private static func token(of result: Result<OAuth2Token, CurlewError>?) throws(CurlewError) -> OAuth2Token {
        guard let result else { throw .cancelled }
        return try result.get()
    }

    private func result(
        _ form: OAuth2Parameters, _ grant: OAuth2Token.Grant, replacing former: OAuth2Token?
    ) async -> Result<OAuth2Token, CurlewError> {
        do throws(CurlewError) {
            return .success(try await exchanged(form, grant, replacing: former))
        } catch {
            return .failure(error)
        }
    }

    private func exchanged(
        _ form: OAuth2Parameters, _ grant: OAuth2Token.Grant, replacing former: OAuth2Token?
    ) async throws(CurlewError) -> OAuth2Token {
        let url = try settings.endpoint(settings.tokenURL, "tokenURL")
        var form = form
        form.add(settings.parameters)
        // Members that the response leaves out keep the values of the token whose refresh token was used.
        let renewed = form["refresh_token"] == nil ? nil : former
        let token = try await send(form, to: url).token(
            grant, replacing: renewed, requested: settings.scope, skew: settings.expirySkew, at: settings.time.now())
        let (refreshToken, now) = (form["refresh_token"], settings.time.instant())
        refreshes.withLock { $0.record(token, for: refreshToken, at: now) }
        // Called before a request uses the token, because the former one may already be void.
        await changes.notify(token, replacing: former)
        return token
    }

    /// Asks for the codes of a device login.
    func deviceLogin() async throws(CurlewError) -> OAuth2DeviceLogin {
        let url = try settings.endpoint(settings.deviceAuthorizationURL, "deviceAuthorizationURL")
        var form = OAuth2Parameters()
        form["scope"] = settings.scope
        // RFC 8628, 3.1. With Basic alone, some servers do not find the client.
        form["client_id"] = settings.clientID
        return try await send(form, to: url).deviceLogin(
            at: settings.time.now(), settings.time.instant())
    }

    private func send(_ form: OAuth2Parameters, to url: URL) async throws(CurlewError) -> OAuth2Response {
        let request = request(form, to: url)
        // A redirect could take the form with its secrets elsewhere (307, 308), and no token endpoint needs one.
        let sent = session.request(request)
            .redirect(using: Redirector(behavior: .doNotFollow))
            .acceptingAnyStatus()
            .asTokenRequest()
            .maximumBodySize(Self.maximumBodySize)
        // Without TLS, a proxy could read the secrets, and its `localhost` is another machine.
        if !OAuth2Settings.usesTLS(url) { sent.bypassingProxy() }
        let response = await sent.response()
        if let error = response.error { throw error }
        return try OAuth2Response(
            response.data ?? Data(), status: response.response?.statusCode ?? 0, url: url,
            secrets: secrets(in: form, request.headers["Authorization"]))
    }

    /// Returns the texts that no error may repeat: the client's secret and the secret parameters, plain and as sent.
    private func secrets(in form: OAuth2Parameters, _ authorization: String?) -> [String] {
        var values = form.items.filter { $0.name == "code" || SecretNames.containsMember($0.name) }.map(\.value)
        if let secret = settings.clientSecret { values.append(secret) }
        values += values.map(OAuth2Parameters.encoded)
        if let basic = authorization?.split(separator: " ").last { values.append(String(basic)) }
        // The longest first, because a value may contain another. Values of three bytes are left out: they hide
        // nothing, and may be part of an error code.
        return values.filter { $0.utf8.count > 3 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    private func request(_ form: OAuth2Parameters, to url: URL) -> URLRequest {
        var (form, request) = (form, URLRequest(url: url))
        request.httpMethod = "POST"
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        let secret = settings.clientSecret ?? ""
        switch settings.authentication {
        case .basic:
            // RFC 6749, 2.3.1: both are encoded as in a form first, so that the id may have a colon.
            request.headers.add(
                .authorization(
                    username: OAuth2Parameters.encoded(settings.clientID), password: OAuth2Parameters.encoded(secret)))
        case .form:
            form["client_id"] = settings.clientID
            form["client_secret"] = secret
        case .none: form["client_id"] = settings.clientID
        }
        request.httpBody = Data(form.text.utf8)
        return request
    }
}
