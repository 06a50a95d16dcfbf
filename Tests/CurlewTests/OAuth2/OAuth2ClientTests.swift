import CurlewLocks
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("The OAuth 2 client", .timeLimit(.minutes(4)))
struct OAuth2ClientTests {
    // MARK: Client credentials

    @Test("a client gets a token with its id and secret", arguments: [OAuth2Client.ClientAuthentication.basic, .form])
    func clientCredentials(_ authentication: OAuth2Client.ClientAuthentication) async throws {
        let authorization = try AuthorizationServer()
        let client = authorization.client(
            authentication, scopes: ["read", "write"], parameters: ["audience": "api", "grant_type": "other"],
            time: StoppedClock().time)
        let token = try await client.token()
        #expect(token.accessToken == "SECRET-access-1" && token.grant == .clientCredentials)
        #expect(token.refreshToken == "SECRET-refresh-1" && token.scope == "read write")
        #expect(token.expires == StoppedClock.now.addingTimeInterval(3600))
        #expect(token.refreshDate == StoppedClock.now.addingTimeInterval(3540))
        var form = ["grant_type": "client_credentials", "scope": "read write", "audience": "api"]
        if authentication == .form {
            form["client_id"] = AuthorizationServer.clientID
            form["client_secret"] = AuthorizationServer.clientSecret
        }
        #expect(authorization.forms == [form])
        #expect(authorization.server.requests[0].headers["Accept"] == "application/json")
    }

    @Test("a wrong secret fails with invalid_client")
    func wrongClient() async throws {
        let authorization = try AuthorizationServer()
        let client = authorization.client(secret: "SECRET-wrong")
        let error = try #require(await failure { try await client.token() })
        #expect(error.code == .authenticationFailed && error.responseCode == 401)
        #expect(error.oauth2Error == OAuth2Error(.invalidClient))
        #expect(!"\(error)".contains("SECRET"))
    }

    @Test("no error repeats a secret parameter or the client's credentials")
    func repeatedSecrets() async throws {
        let authorization = try AuthorizationServer()
        let parameters = [
            "client_assertion": "SECRET-a&b", "password": "SECRET-p", "subject_token": "SECRET-p-longer",
            "audience": "api",
        ]
        let basic = Data("client%3Aid+%C3%BC:SECRET%2Bclient%2F%25secret".utf8).base64EncodedString()
        let details =
            "api SECRET-a&b SECRET-a%26b SECRET-p SECRET-p-longer SECRET+client/%secret SECRET%2Bclient%2F%25secret \(basic)"
        authorization.state.withLock { $0.scripted = [AuthorizationServer.refusal("invalid_request", details)] }
        let error = await failure { try await authorization.client(parameters: parameters).token() }
        #expect(error?.oauth2Error?.code == .invalidRequest)
        #expect(error?.oauth2Error?.details == "api" + String(repeating: " <redacted>", count: 7))
    }

    // MARK: The interceptor

    @Test("the first request gets a token, and all requests share it")
    func interceptor() async throws {
        let authorization = try AuthorizationServer()
        let seen = Lock<[OAuth2Token]>([])
        let client = authorization.client { token, _ in seen.withLock { $0.append(token) } }
        let interceptor = client.interceptor()
        let session = Session(interceptor: interceptor)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await session.request(authorization.api).string() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts == ["welcome"])
        #expect(authorization.forms.count == 1)
        #expect(seen.withLock { $0 }.map(\.accessToken) == ["SECRET-access-1"])
        #expect(interceptor.credential?.accessToken == "SECRET-access-1")
    }

    @Test("an expired token of a user is refreshed, and the rotated refresh token is used next")
    func rotation() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.refreshToken = "SECRET-first" }
        let expired = OAuth2Token(
            accessToken: "SECRET-old", refreshToken: "SECRET-first", expires: Date(timeIntervalSinceNow: 10),
            scope: "read")
        let client = authorization.client(scopes: ["write"])
        let interceptor = AuthenticationInterceptor(authenticator: client, credential: expired)
        let session = Session(interceptor: interceptor)
        #expect(try await session.request(authorization.api).string() == "welcome")
        let token = try #require(interceptor.credential)
        #expect(token.refreshToken == "SECRET-refresh-1" && token.scope == "read")
        #expect(token.grant == .authorizationCode)
        // A token that the API rejects is replaced as well.
        authorization.state.withLock { $0.accessToken = "revoked" }
        #expect(try await session.request(authorization.api).string() == "welcome")
        #expect(authorization.forms.map { $0["refresh_token"] } == ["SECRET-first", "SECRET-refresh-1"])
        // RFC 6749, 6: without a scope, the new token has that of the old one.
        #expect(authorization.forms.allSatisfy { $0["scope"] == nil })
    }

    @Test("a cancelled refresh fails at once, and onChange still gets the rotated token")
    func cancelledRefresh() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.refreshToken = "SECRET-a" }
        let (entered, mayLeave, stored) = (OneShot<Void>(), OneShot<Void>(), OneShot<OAuth2Token>())
        let client = authorization.client { new, _ in
            entered.resolve(())
            await mayLeave.waitThroughCancellation()
            if !Task.isCancelled { stored.resolve(new) }
        }
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a")
        let task = Task { await failure { try await client.token(refreshing: old) } }
        await entered.waitThroughCancellation()
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        mayLeave.resolve(())
        #expect(await stored.waitThroughCancellation().refreshToken == "SECRET-refresh-1")
    }

    @Test("a refresh token that the server does not replace is kept")
    func withoutRotation() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { state in
            state.refreshToken = "SECRET-stays"
            state.rotates = false
        }
        let former = OAuth2Token(accessToken: "a", refreshToken: "SECRET-stays", idToken: "id", grant: .deviceCode)
        let token = try await authorization.client().token(refreshing: former)
        #expect(token.refreshToken == "SECRET-stays" && token.grant == .deviceCode && token.idToken == "id")
    }

    @Test("an expired refresh token fails requests with invalid_grant, without showing the token")
    func expiredRefreshToken() async throws {
        let authorization = try AuthorizationServer()
        let expired = OAuth2Token(accessToken: "SECRET-old", refreshToken: "SECRET-gone", expires: .distantPast)
        let session = Session(interceptor: authorization.client().interceptor(credential: expired))
        let response = await session.request(authorization.api).response()
        let error = try #require(response.error)
        #expect(error.code == .adaptationFailed)
        #expect(error.oauth2Error?.code == .invalidGrant)
        #expect(error.oauth2Error?.details == "the refresh token <redacted> has expired")
        #expect(!"\(error) \(error.localizedDescription)".contains("SECRET"))
        // The client must not send its own credentials instead.
        #expect(authorization.forms.map { $0["grant_type"] } == ["refresh_token"])
    }

    @Test(
        "an invalid refresh token is sent only once, until the user logs in again",
        arguments: [nil, Date.distantPast])
    func voidRefreshToken(expires: Date?) async throws {
        let authorization = try AuthorizationServer()
        let former = OAuth2Token(accessToken: "old", refreshToken: "SECRET-gone", expires: expires)
        let interceptor = authorization.client().interceptor(credential: former)
        let session = Session(interceptor: interceptor)
        for _ in 0..<8 {
            let error = await session.request(authorization.api).validate().response().error
            #expect(error?.oauth2Error?.code == .invalidGrant)
        }
        #expect(authorization.forms.count == 1)
        authorization.state.withLock { ($0.accessToken, $0.refreshToken) = ("SECRET-b", "SECRET-c") }
        interceptor.credential = OAuth2Token(accessToken: "SECRET-b", refreshToken: "SECRET-c")
        #expect(try await session.request(authorization.api).string() == "welcome")
        // The new token expires in turn.
        authorization.state.withLock { $0.accessToken = "revoked" }
        #expect(try await session.request(authorization.api).string() == "welcome")
        #expect(authorization.forms.map { $0["refresh_token"] } == ["SECRET-gone", "SECRET-c"])
    }

    @Test(
        "a refresh token is invalid only after invalid_grant with status 400 or 401",
        arguments: [
            (400, OAuth2Error.Code.invalidGrant, true), (401, .invalidGrant, true), (200, .invalidGrant, false),
            (500, .invalidGrant, false), (503, .invalidGrant, false), (400, .invalidRequest, false),
            (401, .invalidClient, false),
        ])
    func finalRefusals(status: Int, code: OAuth2Error.Code, isFinal: Bool) async throws {
        let authorization = try AuthorizationServer()
        let refusal = AuthorizationServer.refusal(code.rawValue, status: status)
        authorization.state.withLock { $0.scripted = [refusal, refusal] }
        let expired = OAuth2Token(accessToken: "old", refreshToken: "SECRET-gone", expires: .distantPast)
        let session = Session(interceptor: authorization.client().interceptor(credential: expired))
        for _ in 0..<2 {
            #expect(await session.request(authorization.api).response().error?.oauth2Error?.code == code)
        }
        #expect(authorization.forms.count == (isFinal ? 1 : 2))
    }

    @Test("a client with its own credentials requests a token again after invalid_grant")
    func refusalOfTheClient() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.scripted = [AuthorizationServer.refusal("invalid_grant")] }
        let session = Session(interceptor: authorization.client().interceptor())
        let error = await session.request(authorization.api).response().error
        #expect(error?.oauth2Error?.code == .invalidGrant)
        #expect(try await session.request(authorization.api).string() == "welcome")
    }

    @Test("after too many refreshes, requests still fail with the server's reason")
    func reasonOfExcessiveRefreshes() async throws {
        let authorization = try AuthorizationServer()
        let refusal = AuthorizationServer.refusal("temporarily_unavailable", status: 503)
        authorization.state.withLock { $0.scripted = [refusal, refusal, refusal] }
        let expired = OAuth2Token(accessToken: "old", refreshToken: "SECRET-gone", expires: .distantPast)
        let interceptor = authorization.client().interceptor(
            credential: expired, refreshWindow: .init(interval: 300, maximumAttempts: 2))
        let session = Session(interceptor: interceptor)
        for _ in 0..<4 {
            let error = await session.request(authorization.api).response().error
            #expect(error?.oauth2Error?.code == .temporarilyUnavailable)
        }
        #expect(authorization.forms.count == 2)
    }

    @Test("a user's token without a refresh token, or with an empty one, cannot be refreshed", arguments: [nil, ""])
    func noRefreshToken(_ refreshToken: String?) async throws {
        let authorization = try AuthorizationServer()
        let expired = OAuth2Token(accessToken: "SECRET-old", refreshToken: refreshToken, expires: .distantPast)
        let error = await failure { try await authorization.client().token(refreshing: expired) }
        #expect(error?.code == .authenticationFailed)
        #expect(authorization.forms.isEmpty)
    }

    @Test("a client whose own refresh token has expired uses its id and secret")
    func clientsRefreshToken() async throws {
        let authorization = try AuthorizationServer()
        let expired = OAuth2Token(accessToken: "a", refreshToken: "gone", grant: .clientCredentials)
        let token = try await authorization.client().token(refreshing: expired)
        #expect(token.accessToken == "SECRET-access-1")
        #expect(authorization.forms.map { $0["grant_type"] } == ["refresh_token", "client_credentials"])
    }

    /// An interceptor that is set after its session was made.
    final class LateInterceptor: RequestInterceptor {
        let own = Lock<AuthenticationInterceptor<OAuth2Client>?>(nil)

        func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
            try await own.withLock { $0 }?.adapt(urlRequest, using: state) ?? urlRequest
        }

        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            await own.withLock { $0 }?.retry(request, for: session, dueTo: error) ?? .doNotRetry
        }
    }

    @Test("token requests over the session with the interceptor carry the client's own credentials")
    func sameSession() async throws {
        let tokenURL = try #require(URL(string: "https://e.com/token"))
        let interceptor = LateInterceptor()
        let session = Session(
            transport: MockTransport { request in
                let authorization = request.headers["Authorization"] ?? ""
                guard request.url.path == "/token" else {
                    return authorization == "Bearer a" ? .text("welcome") : .status(401)
                }
                return authorization.hasPrefix("Basic ")
                    ? .json(["access_token": "a", "token_type": "Bearer"]) : .status(400)
            }, interceptor: interceptor)
        let client = OAuth2Client(tokenURL: tokenURL, clientID: "c", clientSecret: "s", session: session)
        let old = OAuth2Token(accessToken: "old", expires: .distantPast, grant: .clientCredentials)
        interceptor.own.withLock { $0 = client.interceptor(credential: old) }
        #expect(try await session.request("https://e.com/api").string() == "welcome")
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    @Test("a 401 after a redirect to another origin is delivered, and causes no second token request")
    func redirectWithoutToken() async throws {
        let (authorization, other) = (try AuthorizationServer(), try TestServer())
        other.route("/page") { request in
            .text("log in", status: request.headers["Authorization"] == nil ? 401 : 200)
        }
        let location = other.url("/page").absoluteString
        authorization.server.route("/moved") { _ in
            TestServer.Response(status: 302, headers: ["Location": location])
        }
        let session = Session(interceptor: authorization.client().interceptor())
        let response = await session.request(authorization.url("/moved")).validate().response()
        #expect(response.error?.responseCode == 401)
        #expect(other.requests.count == 1 && authorization.forms.count == 1)
    }

    @Test("token requests whose URL another adapter changes carry the client's own credentials")
    func adaptedTokenRequests() async throws {
        let url = try #require(URL(string: "https://e.com/token"))
        let interceptor = LateInterceptor()
        let query = Adapter { request, _ in
            var request = request
            request.url?.append(queryItems: [URLQueryItem(name: "key", value: "k")])
            return request
        }
        let fields = Lock<[String?]>([])
        let session = Session(
            transport: MockTransport { request in
                #expect(request.url.query() == "key=k")
                fields.withLock { $0.append(request.headers["Authorization"]) }
                return .json(["access_token": "a"])
            }, interceptor: Interceptor(adapters: [query], interceptors: [interceptor]))
        let client = OAuth2Client(tokenURL: url, clientID: "c", clientSecret: "s", session: session)
        interceptor.own.withLock { $0 = client.interceptor(credential: OAuth2Token(accessToken: "users")) }
        _ = try await client.token()
        _ = try await session.request(url).data()
        #expect(
            fields.withLock { $0 } == [HTTPHeader.authorization(username: "c", password: "s").value, "Bearer users"])
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    @Test("a request that an adapter of a token request sends carries the token")
    func requestInsideTokenRequest() async throws {
        let url = try #require(URL(string: "https://e.com/token"))
        let interceptor = LateInterceptor()
        let fields = Lock<[String: String]>([:])
        let nested = Adapter { request, session in
            if request.url == url { _ = try await session.request("https://e.com/key").data() }
            return request
        }
        let session = Session(
            transport: MockTransport { request in
                fields.withLock { $0[request.url.path] = request.headers["Authorization"] }
                return .json(["access_token": "a"])
            }, interceptor: Interceptor(adapters: [nested], interceptors: [interceptor]))
        let client = OAuth2Client(tokenURL: url, clientID: "c", session: session)
        interceptor.own.withLock { $0 = client.interceptor(credential: OAuth2Token(accessToken: "users")) }
        _ = try await client.token()
        #expect(fields.withLock { $0 } == ["/key": "Bearer users"])
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    @Test("a login over the session with the interceptor waits for no refresh, and sends one token request")
    func loginOverSameSession() async throws {
        let url = try #require(URL(string: "https://e.com/token"))
        let interceptor = LateInterceptor()
        let grants = Lock<[String]>([])
        let session = Session(
            transport: MockTransport { request in
                let grant = TestServer.FormField.parse(request.bodyText ?? "").first { $0.name == "grant_type" }
                grants.withLock { $0.append(grant?.value ?? "") }
                return .json(["access_token": "a"])
            }, interceptor: interceptor)
        let client = OAuth2Client(tokenURL: url, clientID: "c", session: session)
        let expired = OAuth2Token(accessToken: "old", refreshToken: "void", expires: .distantPast)
        interceptor.own.withLock { $0 = client.interceptor(credential: expired) }
        _ = try await client.token(code: "x")
        #expect(grants.withLock { $0 } == ["authorization_code"])
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    @Test(
        "token requests carry no token, whatever the form of the endpoint's URL",
        arguments: ["https://e.com/a/../token", "https://e.com/a/%2E%2e/token?b=..", "token", "../x/../token"])
    func writtenEndpoints(_ text: String) async throws {
        let base = try #require(URL(string: "https://e.com/y/"))
        let url = try #require(URL(string: text, relativeTo: base))
        let interceptor = LateInterceptor()
        let fields = Lock<[String?]>([])
        let session = Session(
            transport: MockTransport { request in
                fields.withLock { $0.append(request.headers["Authorization"]) }
                return .json([
                    "access_token": "a", "device_code": "d", "user_code": "u", "verification_uri": "https://e.com/d",
                    "expires_in": "9",
                ])
            }, interceptor: interceptor)
        let client = OAuth2Client(tokenURL: url, clientID: "c", deviceAuthorizationURL: url, session: session)
        interceptor.own.withLock { $0 = client.interceptor(credential: OAuth2Token(accessToken: "users")) }
        _ = try await client.token()
        _ = try await client.authorizeDevice()
        _ = try await session.request("https://e.com/api").data()
        #expect(fields.withLock { $0 } == [nil, nil, "Bearer users"])
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    // MARK: Responses that break the rules

    @Test("a token without a lifetime has no expiry, and requires no refresh")
    func missingLife() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.life = nil }
        let token = try await authorization.client().token()
        #expect(token.expires == nil && token.refreshDate == nil && !token.requiresRefresh)
    }

    @Test("a token with a short lifetime is not requested again for every request")
    func shortLife() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.life = "30" }
        let session = Session(interceptor: authorization.client().interceptor())
        for _ in 0..<10 { _ = try await session.request(authorization.api).string() }
        #expect(authorization.forms.count == 1)
    }

    @Test("an HTML error page of the token endpoint fails with its status, without showing the page")
    func errorPage() async throws {
        let authorization = try AuthorizationServer()
        let page = TestServer.Response.text("<html>SECRET-page</html>", status: 502, type: "text/html")
        authorization.state.withLock { $0.scripted = [page] }
        let error = try #require(await failure { try await authorization.client().token() })
        #expect(error.code == .unacceptableStatus && error.responseCode == 502)
        #expect(error.oauth2Error == nil && !"\(error)".contains("SECRET"))
    }

    @Test("a redirect of the token endpoint is not followed, because it could leak the secret")
    func redirect() async throws {
        let authorization = try AuthorizationServer()
        let location = authorization.server.url("/elsewhere").absoluteString
        authorization.server.route("/elsewhere") { _ in .text("{}") }
        authorization.state.withLock {
            $0.scripted = [TestServer.Response(status: 307, headers: ["Location": location])]
        }
        let error = try #require(await failure { try await authorization.client().token() })
        #expect(error.code == .unacceptableStatus && error.responseCode == 307)
        #expect(authorization.server.requests.allSatisfy { $0.path == "/token" })
    }

    @Test(arguments: [
        (#"{"access_token":"a","token_type":"mac"}"#, CurlewError.Code.unsupported),
        (#"{"access_token":"a","token_type":"DPoP"}"#, .unsupported),
        (#"{"token_type":"Bearer"}"#, .decodingFailed),
        (#"{"access_token":"","token_type":"Bearer"}"#, .decodingFailed),
        (#"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, .decodingFailed),
        (#"{"access_token":7,"token_type":"Bearer"}"#, .decodingFailed),
        ("[]", .decodingFailed), ("", .decodingFailed), ("access_token=a&token_type=bearer", .decodingFailed),
        (#"{"error":"bad_verification_code"}"#, .authenticationFailed),
    ])
    func invalidTokenResponsesAreErrors(_ body: String, _ code: CurlewError.Code) async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.scripted = [.text(body, type: "application/json")] }
        let error = await failure { try await authorization.client().token() }
        #expect(error?.code == code, "\(String(describing: error))")
    }

    @Test("a response that exceeds the size limit is an error, whatever its status", arguments: [200, 400])
    func bigResponse(status: Int) async throws {
        let authorization = try AuthorizationServer()
        let rest = String(repeating: "x", count: 2 * 1024 * 1024)
        let body = #"{"access_token":"a","error_description":"\#(rest)"}"#
        authorization.state.withLock { $0.scripted = [.text(body, status: status, type: "application/json")] }
        let error = await failure { try await authorization.client().token() }
        #expect(error?.code == .limitExceeded, "\(String(describing: error))")
    }

    @Test(
        "an endpoint must use https or be on this machine",
        arguments: [
            ("http://e.com/", false), ("HTTP://127.0.0.1.e.com/", false), ("http://localhost.e.com/", false),
            ("http://127.1.x.1/", false), ("http://0127.0.0.1/", false), ("http://127.1/", false),
            ("http://[::2]/", false), ("ftp://e.com/", false), ("/token", false), ("//e.com/token", false),
            ("https://e.com/", true), ("HTTPS://e.com/", true), ("http://localhost:8080/", true),
            ("http://LOCALHOST/", true), ("http://auth.localhost/", false), ("http://localhost./", false),
            ("http://127.9.0.1/", true), ("http://[::1]:80/", true),
        ])
    func endpointsAreProtected(_ text: String, _ isProtected: Bool) async throws {
        let (url, secure) = (try #require(URL(string: text)), try #require(URL(string: "https://e.com/token")))
        let sent = Lock(0)
        let session = Session(
            configuration: SessionConfiguration { $0.baseURL = URL(string: "http://e.com/") },
            transport: MockTransport { _ in
                sent.withLock { $0 += 1 }
                return .json([
                    "access_token": "a", "token_type": "Bearer", "device_code": "d", "user_code": "u",
                    "verification_uri": "https://e.com/d", "expires_in": "9",
                ])
            })
        func client(tokenURL: URL) -> OAuth2Client {
            OAuth2Client(
                tokenURL: tokenURL, clientID: "c", clientSecret: "s", authorizationURL: url,
                deviceAuthorizationURL: url,
                session: session)
        }
        let errors = [
            await failure { try await client(tokenURL: url).token() },
            await failure { try await client(tokenURL: secure).authorizeDevice() },
            await failure { try client(tokenURL: secure).authorizationURL(state: "s") },
        ]
        #expect(errors.map { $0?.code } == Array(repeating: isProtected ? nil : .requestCreationFailed, count: 3))
        #expect(sent.withLock { $0 } == (isProtected ? 2 : 0))
    }

    @Test("an endpoint that cannot be reached fails with the transport's error")
    func unreachable() async throws {
        let deadEnd = try DeadEnd(.refusing)
        let client = OAuth2Client(tokenURL: deadEnd.url, clientID: "c")
        let error = await failure { try await client.token() }
        #expect(error?.code == .connectFailed && error?.isSafeToRetry == true)
    }
}
