import CurlewLocks
import Foundation

@testable import Curlew
@testable import CurlewTesting

/// An authorization server that follows RFC 6749, section 5, RFC 7636 and RFC 8628, and an API that accepts its tokens:
/// `/token`, `/device`, and `/api`.
final class AuthorizationServer: Sendable {
    struct State: Sendable {
        /// The access token that the API accepts.
        var accessToken = ""
        var refreshToken = ""
        var count = 0
        /// The challenge of each authorization code that was not used yet.
        var codes: [String: String] = [:]
        /// The error codes of the next token requests of a device. After them, the user has confirmed the login.
        var deviceRefusals: [String] = []
        var life: String? = "3600"
        var rotates = true
        /// Responses that replace the next ones.
        var scripted: [TestServer.Response] = []
        var forms: [[String: String]] = []
    }

    static let clientID = "client:id ü"
    static let clientSecret = "SECRET+client/%secret"

    let server: TestServer
    let state = Lock(State())

    init() throws {
        server = try TestServer()
        server.route("/token", methods: [.post]) { [state] request in state.withLock { Self.token(&$0, request) } }
        server.route("/device", methods: [.post]) { request in
            Self.json([
                "device_code": "SECRET-device", "user_code": "WDJB-MJHT", "verification_uri": "https://e.com/device",
                "verification_uri_complete": "https://e.com/device?user_code=WDJB-MJHT", "expires_in": 1800,
                "interval": 5,
            ])
        }
        server.route("/api") { [state] request in
            let isAccepted = state.withLock { request.headers["Authorization"] == "Bearer \($0.accessToken)" }
            return isAccepted
                ? .text("welcome")
                : TestServer.Response(
                    status: 401, headers: ["WWW-Authenticate": "Bearer error=\"invalid_token\""])
        }
    }

    var tokenURL: URL { url("/token") }
    var api: URL { url("/api") }
    var forms: [[String: String]] { state.withLock { $0.forms } }

    func url(_ path: String) -> URL { URL(string: server.url(path).absoluteString)! }

    func client(
        secret: String? = clientSecret,
        _ authentication: OAuth2Client.ClientAuthentication = .basic,
        scopes: [String] = [],
        parameters: [String: String] = [:],
        time: OAuth2Settings.Time = OAuth2Settings.Time(),
        onChange: (@Sendable (OAuth2Token, OAuth2Token?) async -> Void)? = nil
    ) -> OAuth2Client {
        let client = OAuth2Client(
            tokenURL: tokenURL, clientID: Self.clientID, clientSecret: secret, authentication: authentication,
            scopes: scopes, authorizationURL: URL(string: "https://e.com/authorize?tenant=a%20b#x"),
            deviceAuthorizationURL: url("/device"), redirectURL: URL(string: "https://app.example/back"),
            parameters: parameters, onChange: onChange)
        return OAuth2Client(client, time: time)
    }

    // MARK: The token endpoint

    private static func token(_ state: inout State, _ request: TestServer.Request) -> TestServer.Response {
        let fields = TestServer.FormField.parse(request.bodyText ?? "")
        let form = Dictionary(fields.map { ($0.name, $0.value) }) { $0 + "," + $1 }
        state.forms.append(form)
        if !state.scripted.isEmpty { return state.scripted.removeFirst() }
        guard isClient(form, request.headers["Authorization"]) else {
            var refusal = refusal("invalid_client", status: 401)
            refusal.headers["WWW-Authenticate"] = "Basic realm=\"tokens\""
            return refusal
        }
        switch form["grant_type"] {
        case "client_credentials": break
        case "refresh_token":
            guard let given = form["refresh_token"], given == state.refreshToken else {
                return refusal("invalid_grant", "the refresh token \(form["refresh_token"] ?? "") has expired")
            }
        case "authorization_code":
            guard let challenge = form["code"].flatMap({ state.codes.removeValue(forKey: $0) }),
                challenge == (try? PKCE(verifier: form["code_verifier"] ?? ""))?.challenge,
                form["redirect_uri"] == "https://app.example/back"
            else { return refusal("invalid_grant") }
        case "urn:ietf:params:oauth:grant-type:device_code":
            guard form["device_code"] == "SECRET-device" else { return refusal("invalid_grant") }
            if !state.deviceRefusals.isEmpty { return refusal(state.deviceRefusals.removeFirst()) }
        default: return refusal("unsupported_grant_type")
        }
        return issued(&state)
    }

    private static func issued(_ state: inout State) -> TestServer.Response {
        state.count += 1
        state.accessToken = "SECRET-access-\(state.count)"
        var members: [String: any Sendable] = ["access_token": state.accessToken, "token_type": "bearer"]
        if let life = state.life { members["expires_in"] = Int(life) ?? 0 }
        if state.rotates || state.refreshToken.isEmpty {
            state.refreshToken = "SECRET-refresh-\(state.count)"
            members["refresh_token"] = state.refreshToken
        }
        return json(members)
    }

    private static func isClient(_ form: [String: String], _ authorization: String?) -> Bool {
        guard let authorization else {
            guard form["client_id"] == clientID else { return false }
            return form["client_secret"].map { $0 == clientSecret } ?? true
        }
        let expected = "client%3Aid+%C3%BC:SECRET%2Bclient%2F%25secret"
        return form["client_secret"] == nil
            && authorization == "Basic \(Data(expected.utf8).base64EncodedString())"
    }

    static func refusal(_ code: String, _ details: String? = nil, status: Int = 400) -> TestServer.Response {
        var members: [String: any Sendable] = ["error": code]
        if let details { members["error_description"] = details }
        return json(members, status: status)
    }

    static func json(_ members: [String: any Sendable], status: Int = 200) -> TestServer.Response {
        let data = try? JSONSerialization.data(withJSONObject: members)
        return .data(data ?? Data(), status: status, type: "application/json")
    }
}

/// A clock that only its waits advance. They take no time and are recorded.
final class StoppedClock: Sendable {
    static let now = Date(timeIntervalSince1970: 1_000_000)

    let pauses = Lock<[Duration]>([])
    /// The seconds by which the wall clock was changed.
    let shift = Lock(0.0)
    private let passed = Lock(0.0)
    private let start = ContinuousClock.now

    var time: OAuth2Settings.Time {
        OAuth2Settings.Time(
            now: { [passed, shift] in Self.now.addingTimeInterval(passed.withLock { $0 } + shift.withLock { $0 }) },
            instant: { [passed, start] in start + .seconds(passed.withLock { $0 }) },
            pause: { [pauses, passed] duration in
                pauses.withLock { $0.append(duration) }
                passed.withLock { $0 += Double(duration.components.seconds) }
                return !Task.isCancelled
            })
    }
}
