import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("Logins with OAuth 2", .timeLimit(.minutes(4)))
struct OAuth2LoginTests {
    // MARK: Users

    @Test("an authorization code is exchanged with its verifier, and only once")
    func authorizationCode() async throws {
        let authorization = try AuthorizationServer()
        let (client, pkce) = (authorization.client(secret: nil, scopes: ["openid"]), try PKCE())
        let page = try client.authorizationURL(
            state: "st/1", pkce: pkce, parameters: ["prompt": "login", "state": "x"])
        #expect(
            page.absoluteString
                == "https://e.com/authorize?tenant=a%20b&response_type=code&client_id=client%3Aid+%C3%BC"
                + "&redirect_uri=https%3A%2F%2Fapp.example%2Fback&scope=openid&state=st%2F1"
                + "&code_challenge=\(pkce.challenge)&code_challenge_method=S256&prompt=login")
        authorization.state.withLock { $0.codes = ["c de": pkce.challenge] }
        let redirect = try #require(URL(string: "https://app.example/back?code=c+de&state=st%2F1"))
        let token = try await client.token(redirectedTo: redirect, state: "st/1", pkce: pkce)
        #expect(token.grant == .authorizationCode && token.refreshToken != nil)
        #expect(authorization.forms[0]["client_id"] == AuthorizationServer.clientID)
        let again = await failure { try await client.token(code: "c de", pkce: pkce) }
        #expect(again?.oauth2Error?.code == .invalidGrant)
    }

    @Test("a code with another verifier fails with invalid_grant")
    func wrongVerifier() async throws {
        let authorization = try AuthorizationServer()
        let challenge = try PKCE().challenge
        authorization.state.withLock { $0.codes = ["code": challenge] }
        let error = await failure { try await authorization.client(secret: nil).token(code: "code", pkce: PKCE()) }
        #expect(error?.oauth2Error?.code == .invalidGrant)
    }

    @Test(arguments: [
        ("code=a&state=other", nil), ("code=a", nil), ("code=a&state=s&state=s", nil), ("state=s", nil),
        ("error=access_denied&error_description=No%20thanks&state=s", OAuth2Error.Code.accessDenied),
    ])
    func redirectsWithoutCodeAreErrors(_ query: String, _ code: OAuth2Error.Code?) async throws {
        let authorization = try AuthorizationServer()
        let redirect = try #require(URL(string: "https://app.example/back?\(query)"))
        let error = await failure {
            try await authorization.client().token(redirectedTo: redirect, state: "s", pkce: nil)
        }
        #expect(error?.code == .authenticationFailed && error?.oauth2Error?.code == code)
        #expect(authorization.forms.isEmpty)
    }

    @Test("a code of another issuer is not sent to the token endpoint")
    func otherIssuer() async throws {
        let authorization = try AuthorizationServer()
        let client = OAuth2Client(tokenURL: authorization.tokenURL, clientID: "c", issuer: "https://e.com")
        let redirect = try #require(URL(string: "https://app.example/back?code=a&state=s&iss=https://f.com"))
        let error = await failure { try await client.token(redirectedTo: redirect, state: "s") }
        #expect(error?.code == .authenticationFailed && error?.reason.contains("\"iss\"") == true)
        #expect(authorization.forms.isEmpty)
    }

    @Test("an error for a missing endpoint names the endpoint")
    func missingEndpoints() async throws {
        let client = OAuth2Client(tokenURL: try #require(URL(string: "https://e.com/token")), clientID: "c")
        #expect { try client.authorizationURL(state: "s") } throws: { CurlewError.Code.requestCreationFailed ~= $0 }
        let error = await failure { try await client.authorizeDevice() }
        #expect(error?.reason.contains("deviceAuthorizationURL") == true)
    }

    // MARK: Devices

    @Test("a device polls at the server's pace until the user has confirmed the login")
    func device() async throws {
        let (authorization, clock) = (try AuthorizationServer(), StoppedClock())
        let client = authorization.client(secret: nil, time: clock.time)
        let login = try await client.authorizeDevice()
        #expect(login.userCode == "WDJB-MJHT" && login.verificationURL.absoluteString == "https://e.com/device")
        #expect(login.completeVerificationURL?.query() == "user_code=WDJB-MJHT")
        authorization.state.withLock {
            $0.deviceRefusals = ["authorization_pending", "slow_down", "authorization_pending", "slow_down"]
        }
        let token = try await client.token(for: login)
        #expect(token.grant == .deviceCode)
        #expect(clock.pauses.withLock { $0 } == [5, 5, 10, 10, 15].map { .seconds($0) })
    }

    @Test(arguments: [OAuth2Error.Code.accessDenied, .expiredToken, .invalidGrant])
    func finalRefusalsEndADeviceLogin(_ code: OAuth2Error.Code) async throws {
        let (authorization, clock) = (try AuthorizationServer(), StoppedClock())
        let client = authorization.client(secret: nil, time: clock.time)
        let login = try await client.authorizeDevice()
        authorization.state.withLock { $0.deviceRefusals = ["authorization_pending", code.rawValue] }
        let error = await failure { try await client.token(for: login) }
        #expect(error?.oauth2Error?.code == code && clock.pauses.withLock { $0.count } == 2)
    }

    @Test(
        "a device login ends when its codes expire, even if the server or the wall clock say otherwise",
        arguments: [0, -86_400, 86_400])
    func deviceExpires(shift: Double) async throws {
        let (authorization, clock) = (try AuthorizationServer(), StoppedClock())
        let client = authorization.client(secret: nil, time: clock.time)
        let login = try await client.authorizeDevice()
        #expect(login.expires == StoppedClock.now.addingTimeInterval(1800))
        clock.shift.withLock { $0 = shift }
        authorization.state.withLock { $0.deviceRefusals = Array(repeating: "authorization_pending", count: 1_000) }
        let error = await failure { try await client.token(for: login) }
        #expect(error?.oauth2Error?.code == .expiredToken)
        #expect(clock.pauses.withLock { $0.reduce(.zero, +) } == .seconds(1800))
    }

    @Test("a device polls more slowly after server failures, and gets its token")
    func deviceFailures() async throws {
        let (authorization, clock) = (try AuthorizationServer(), StoppedClock())
        let client = authorization.client(secret: nil, time: clock.time)
        let login = try await client.authorizeDevice()
        authorization.state.withLock {
            $0.scripted = [
                .text("busy", status: 503), AuthorizationServer.refusal("temporarily_unavailable", status: 503),
                AuthorizationServer.refusal("server_error"), .text("too many", status: 429),
                AuthorizationServer.refusal("invalid_request", status: 500),
            ]
        }
        _ = try await client.token(for: login)
        #expect(clock.pauses.withLock { $0 } == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
    }

    @Test("cancelling the task of a device login ends its wait for the user")
    func deviceCancellation() async throws {
        let (authorization, waits) = (try AuthorizationServer(), OneShot<Void>())
        let time = OAuth2Settings.Time(pause: { duration in
            waits.resolve(())
            return await CancellableSleep.wait(for: duration)
        })
        let client = authorization.client(secret: nil, time: time)
        let login = try await client.authorizeDevice()
        let task = Task { await failure { try await client.token(for: login) } }
        await waits.waitThroughCancellation()
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(authorization.forms.isEmpty)
    }
}
