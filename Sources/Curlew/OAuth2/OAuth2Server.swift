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

/// The refresh tokens that a client is exchanging, and those that the server has replaced lately.
///
/// A server that rotates refresh tokens may revoke them all if it gets one twice. A caller may still have a token that
/// was replaced a moment ago, as the second of two interceptors does: it gets the new one from here.
struct OAuth2Refreshes {
    /// The exchange of a form for a token, and its result.
    typealias Exchange = OneShot<Result<OAuth2Token, CurlewError>>

    /// The decision about a refresh token.
    enum Step {
        /// The caller sends it.
        case begun
        /// The caller waits for the end of an exchange.
        case running(Exchange)
        /// The server has replaced it with this token.
        case replaced(OAuth2Token)
    }

    private struct Replacement {
        let refreshToken: Data
        let token: OAuth2Token
        /// The end of the exchange; `nil` while `onChange` has not returned.
        var end: ContinuousClock.Instant?
    }

    static let maximumCount = 256
    static let maximumAge = Duration.seconds(60)

    /// The exchanges that have not ended. The keys are bytes: different strings can be equal.
    private var running: [Data: Exchange] = [:]
    /// The oldest first.
    private var replacements: [Replacement] = []

    /// Begins the exchange of a refresh token, unless one is running or the server has replaced the token.
    mutating func begin(_ own: Exchange, for refreshToken: String, at now: ContinuousClock.Instant) -> Step {
        let key = Data(refreshToken.utf8)
        if let exchange = running[key] { return .running(exchange) }
        if let token = replacement(for: refreshToken, at: now) { return .replaced(token) }
        running[key] = own
        return .begun
    }

    /// Ends an exchange of the refresh token.
    mutating func end(_ own: Exchange, for refreshToken: String, at now: ContinuousClock.Instant) {
        let key = Data(refreshToken.utf8)
        // `own` may be nested: while `onChange` of the running exchange runs, the same token may be sent again without
        // being recorded in `running`. Its end changes nothing; the end of the outer exchange counts.
        if running[key] === own { running[key] = nil }
        guard running[key] == nil, let index = index(of: key) else { return }
        replacements[index].end = now
    }

    /// Records the server's response to a refresh token; `nil` for other grants. Must be called before `onChange`.
    mutating func record(_ token: OAuth2Token, for refreshToken: String?, at now: ContinuousClock.Instant) {
        removeExpired(at: now)
        // A refresh token that the server has just issued is not void, even if it was replaced before.
        if let issued = token.refreshToken { remove(Data(issued.utf8)) }
        guard let refreshToken else { return }
        let key = Data(refreshToken.utf8)
        guard token.refreshToken.map({ Data($0.utf8) }) != key else { return }
        remove(key)
        if replacements.count == Self.maximumCount { replacements.removeFirst() }
        replacements.append(Replacement(refreshToken: key, token: token))
    }

    /// Returns the token that has replaced the one with this refresh token, until `maximumAge` after the exchange.
    mutating func replacement(for refreshToken: String, at now: ContinuousClock.Instant) -> OAuth2Token? {
        removeExpired(at: now)
        return index(of: Data(refreshToken.utf8)).map { replacements[$0].token }
    }

    private func index(of key: Data) -> Int? { replacements.firstIndex { $0.refreshToken == key } }

    private mutating func remove(_ key: Data) { replacements.removeAll { $0.refreshToken == key } }

    private mutating func removeExpired(at now: ContinuousClock.Instant) {
        replacements.removeAll { $0.end.map { $0.duration(to: now) >= Self.maximumAge } ?? false }
    }
}

/// Passes new tokens to a client's `onChange`, one after the other in the order in which they arrived.
///
/// Concurrent calls could store the older of two tokens last.
final class OAuth2Changes: Sendable {
    private let handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?
    /// The end of the last call, which the next one waits for.
    private let last = Lock<OneShot<Void>?>(nil)

    init(_ handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?) { self.handler = handler }

    /// Calls the handler, after the calls before it. Must be called in a task that nothing cancels.
    ///
    /// `UserCode` treats each call as a separate refresh. A handler may send a request that waits for a refresh whose
    /// token waits here for the end of the handler. The later of the two then does not wait, because neither would end.
    func notify(_ token: OAuth2Token, replacing former: OAuth2Token?) async {
        guard let handler else { return }
        let calls = ObjectIdentifier(self)
        // The handler asks for a token itself.
        if UserCode.isInRefresh(of: calls) { return await handler(token, former) }
        let end = OneShot<Void>()
        if let previous = last.withLock({ exchange(&$0, with: end) }) {
            _ = await UserCode.waiting(forRefreshOf: calls) { await previous.waitThroughCancellation() }
        }
        await UserCode.call(by: .refresh(of: calls)) { await handler(token, former) }
        end.resolve(())
    }
}
