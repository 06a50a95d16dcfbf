internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// How a client asks its authorization server for a token: a caller waits for a flight, and a separate task sends the
// request.
//
//     requestToken ──▶ Task: send ──▶ refreshes.record ──▶ changes.notify (onChange) ──▶ refreshes.end
//          ▲                                                                                 │
//          └────────────────────────────────── flight ◀──────────────────────────────────────┘
//
// `OAuth2Settings` makes the request, `OAuth2Response` reads the response, and `OAuth2Refreshes` decides which callers
// share a flight.
extension OAuth2Client {
    /// Responses with tokens are small; an error page need not be.
    private static let maximumBodySize = 1024 * 1024

    /// Asks for a token. Throws `.cancelled` if the caller is cancelled; `onChange` gets the token even then.
    ///
    /// `former` is the token that the new one replaces, and `refreshToken` the one in the form. A refresh token is not
    /// sent again while its flight lasts, even if the caller that began it was cancelled: further callers wait for that
    /// flight. Nor is it sent again soon after the server has replaced it.
    func requestToken(
        _ form: OAuth2Parameters, _ grant: OAuth2Token.Grant, replacing former: OAuth2Token? = nil,
        refreshToken: String? = nil
    ) async throws(CurlewError) -> OAuth2Token {
        guard !Task.isCancelled else { throw .cancelled }
        let flight = OAuth2Refreshes.Flight()
        if let refreshToken, let shared = try await sharedToken(for: refreshToken, or: flight) { return shared }
        // In a separate task, which the caller's cancellation does not reach: once the server has the request, the code
        // or refresh token in it may be void, and the token that replaces it would be lost.
        Task {
            let result = await RequestDeadline.never {
                await UserCode.call(by: .refresh(of: ObjectIdentifier(flight))) {
                    await self.fetchToken(form, grant, replacing: former, refreshToken: refreshToken)
                }
            }
            // Before the result is published, because a caller whose flight has failed may send the refresh token
            // again.
            let now = settings.time.instant()
            if let refreshToken { refreshes.withLock { $0.end(flight, for: refreshToken, at: now) } }
            flight.resolve(result)
        }
        return try Self.token(of: await flight.wait())
    }

    /// Returns the token of another caller's flight with this refresh token; `nil` if the caller must begin `flight`.
    private func sharedToken(
        for refreshToken: String, or flight: OAuth2Refreshes.Flight
    ) async throws(CurlewError) -> OAuth2Token? {
        let now = settings.time.instant()
        switch refreshes.withLock({ $0.begin(flight, for: refreshToken, at: now) }) {
        case .begun: return nil
        case .replaced(let token): return token
        case .running(let other):
            let result = await UserCode.waiting(forRefreshOf: ObjectIdentifier(other)) { await other.wait() }
            if let result { return try Self.token(of: result) }
            // The other flight waits for this call, as in `onChange`: the call must not wait for it. Its response may
            // have arrived. Otherwise the call needs a token for that flight's own request, or the server has kept the
            // refresh token.
            return refreshes.withLock { $0.replacement(for: refreshToken, at: now) }
        }
    }

    private static func token(of result: Result<OAuth2Token, CurlewError>?) throws(CurlewError) -> OAuth2Token {
        guard let result else { throw .cancelled }
        return try result.get()
    }

    /// Sends the form, records the new token, and waits until `onChange` has it.
    private func fetchToken(
        _ form: OAuth2Parameters, _ grant: OAuth2Token.Grant, replacing former: OAuth2Token?, refreshToken: String?
    ) async -> Result<OAuth2Token, CurlewError> {
        do throws(CurlewError) {
            let url = try settings.endpoint(settings.tokenURL, "tokenURL")
            var form = form
            form.add(settings.parameters)
            // Members that the response leaves out keep the values of the token whose refresh token was used.
            let token = try await send(form, to: url).token(
                grant, replacing: refreshToken == nil ? nil : former, requested: settings.scope,
                skew: settings.expirySkew, at: settings.time.now())
            let now = settings.time.instant()
            refreshes.withLock { $0.record(token, for: refreshToken, at: now) }
            // Called before a request uses the token, because the former one may already be void.
            await changes.notify(token, replacing: former)
            return .success(token)
        } catch {
            return .failure(error)
        }
    }

    /// Sends a form to an endpoint, and returns the response if it is no refusal.
    func send(_ form: OAuth2Parameters, to url: URL) async throws(CurlewError) -> OAuth2Response {
        // A redirect could take the form with its secrets elsewhere (307, 308), and no token endpoint needs one.
        let sent = session.request(settings.request(form, to: url))
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
            secrets: settings.secrets(in: form))
    }
}

/// The fixed values of an OAuth 2 client, and the requests that follow from them.
struct OAuth2Settings: Sendable {
    let tokenURL: URL
    let authorizationURL: URL?
    let deviceAuthorizationURL: URL?
    let redirectURL: URL?
    let issuer: String?
    let clientID: String
    let clientSecret: String?
    let authentication: OAuth2Client.ClientAuthentication
    let scope: String?
    let parameters: [String: String]
    let expirySkew: Duration
    var time = Time()

    /// The clocks, which tests replace.
    struct Time: Sendable {
        var now: @Sendable () -> Date = { Date() }
        var instant: @Sendable () -> ContinuousClock.Instant = { .now }
        /// Returns `false` if the waiting task is cancelled.
        var pause: @Sendable (Duration) async -> Bool = { await CancellableSleep.wait(for: $0) }
    }

    /// Returns an endpoint that a call needs. Throws if the client was created without it, or if others could read what
    /// is sent to it (RFC 6749, 3.1 and 3.2).
    func endpoint(_ url: URL?, _ name: String) throws(CurlewError) -> URL {
        func failed(_ reason: String, _ url: URL) -> CurlewError {
            CurlewError(.requestCreationFailed, phase: .creation, reason: reason, url: url)
        }
        guard let url else { throw failed("the OAuth 2 client has no \(name)", tokenURL) }
        guard Self.protectsSecrets(url) else {
            throw failed("the \(name) of an OAuth 2 client is an https URL, or an http URL of this machine", url)
        }
        return url
    }

    /// A URL without a scheme protects nothing: the session's base URL, which completes it, may be http.
    private static func protectsSecrets(_ url: URL) -> Bool {
        if usesTLS(url) { return true }
        guard ASCII.equalsIgnoringCase(url.scheme ?? "", "http") else { return false }
        let host = Hostname.withoutBrackets(url.host() ?? "")
        // libcurl knows the address of `localhost`, but before 7.85 it asks name servers for the names below it.
        // Only four decimal numbers are an address here: to libcurl, one with a leading zero is octal.
        return ASCII.equalsIgnoringCase(host, "localhost") || IPAddress(host)?.isLoopback == true
    }

    static func usesTLS(_ url: URL) -> Bool { ASCII.equalsIgnoringCase(url.scheme ?? "", "https") }

    // MARK: Requests

    /// Returns the request that sends a form with the client's credentials.
    func request(_ form: OAuth2Parameters, to url: URL) -> URLRequest {
        var (form, request) = (form, URLRequest(url: url))
        request.httpMethod = "POST"
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        switch authentication {
        case .basic: request.headers.add(basicCredentials)
        case .form:
            form["client_id"] = clientID
            form["client_secret"] = clientSecret
        case .none: form["client_id"] = clientID
        }
        request.httpBody = Data(form.text.utf8)
        return request
    }

    /// RFC 6749, 2.3.1: id and secret are encoded as in a form first, so that the id may have a colon.
    private var basicCredentials: HTTPHeader {
        .authorization(
            username: OAuth2Parameters.encoded(clientID), password: OAuth2Parameters.encoded(clientSecret ?? ""))
    }

    /// Returns the texts that no error may repeat: the client's secret and the secret parameters, plain and as sent.
    func secrets(in form: OAuth2Parameters) -> [String] {
        var values = form.items.filter { $0.name == "code" || SecretNames.containsMember($0.name) }.map(\.value)
        if let clientSecret { values.append(clientSecret) }
        values += values.map(OAuth2Parameters.encoded)
        if authentication == .basic, let sent = basicCredentials.value.split(separator: " ").last {
            values.append(String(sent))
        }
        // The longest first, because a value may contain another. Values of three bytes are left out: they hide
        // nothing, and may be part of an error code.
        return values.filter { $0.utf8.count > 3 }.sorted { $0.utf8.count > $1.utf8.count }
    }
}

/// The refresh tokens that a client has sent to its server, and those that the server has replaced lately.
///
/// A server that rotates refresh tokens may revoke them all if it gets one twice. A caller may still have a token that
/// was replaced a moment ago, as the second of two interceptors does: it gets the new one from here.
struct OAuth2Refreshes {
    /// A token request that has been sent, and its result. Several callers may wait for it.
    typealias Flight = OneShot<Result<OAuth2Token, CurlewError>>

    /// The decision about a caller's refresh token.
    enum Step {
        /// The caller sends it.
        case begun
        /// Another caller has sent it: this one waits for that flight.
        case running(Flight)
        /// The server has replaced it with this token.
        case replaced(OAuth2Token)
    }

    private struct Replacement {
        let refreshToken: Data
        let token: OAuth2Token
        /// The end of the flight; `nil` while `onChange` has not returned.
        var end: ContinuousClock.Instant?
    }

    static let maximumCount = 256
    static let maximumAge = Duration.seconds(60)

    /// The flights that have not ended, by their refresh tokens. The keys are bytes: different strings can be equal.
    private var running: [Data: Flight] = [:]
    /// The refresh tokens that the server has replaced, the oldest first.
    private var replacements: [Replacement] = []

    /// Begins a flight with a refresh token, unless one is running or the server has replaced the token.
    mutating func begin(_ flight: Flight, for refreshToken: String, at now: ContinuousClock.Instant) -> Step {
        let key = Data(refreshToken.utf8)
        if let other = running[key] { return .running(other) }
        if let token = replacement(for: refreshToken, at: now) { return .replaced(token) }
        running[key] = flight
        return .begun
    }

    /// Ends a flight with the refresh token.
    mutating func end(_ flight: Flight, for refreshToken: String, at now: ContinuousClock.Instant) {
        let key = Data(refreshToken.utf8)
        // The flight may be nested: while `onChange` of the running one runs, the same token may be sent again without
        // being recorded in `running`. Its end changes nothing; the end of the outer flight counts.
        if running[key] === flight { running[key] = nil }
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

    /// Returns the token that has replaced the one with this refresh token, until `maximumAge` after its flight.
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
    /// The ends of the calls that wait or run, the oldest first.
    private let open = Lock<[OneShot<Void>]>([])

    init(_ handler: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)?) { self.handler = handler }

    /// Calls the handler, after the calls before it. Must be called in a task that nothing cancels.
    ///
    /// `UserCode` treats each call as a separate refresh. A handler may send a request that waits for a refresh, while
    /// the token of that refresh waits here for the handler. The later of the two waits is then skipped. If the token's
    /// wait is skipped, its call may end before the earlier handler. So each call waits for every earlier one, not only
    /// for the last.
    func notify(_ token: OAuth2Token, replacing former: OAuth2Token?) async {
        guard let handler else { return }
        let calls = ObjectIdentifier(self)
        // The handler asks for a token itself.
        if UserCode.isInRefresh(of: calls) { return await handler(token, former) }
        let end = OneShot<Void>()
        let earlier = open.withLock { open in
            defer { open.append(end) }
            return open
        }
        for call in earlier {
            _ = await UserCode.waiting(forRefreshOf: calls) { await call.waitThroughCancellation() }
        }
        await UserCode.call(by: .refresh(of: calls)) { await handler(token, former) }
        open.withLock { $0.removeAll { $0 === end } }
        end.resolve(())
    }
}
