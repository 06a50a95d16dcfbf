import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("Requests to an authorization server", .timeLimit(.minutes(4)))
struct OAuth2TokenRequestTests {
    // MARK: Proxies

    @Test("an http endpoint of this machine is reached without a proxy", arguments: [false, true])
    func proxies(isRouted: Bool) async throws {
        let (authorization, proxy) = (try AuthorizationServer(), try TestServer())
        let address = try #require(URL(string: proxy.url("/").absoluteString))
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = isRouted ? .none : .url(address)
                if isRouted { $0.proxyRouting = { _ in .url(address) } }
            })
        let client = OAuth2Client(
            tokenURL: authorization.tokenURL, clientID: AuthorizationServer.clientID,
            deviceAuthorizationURL: authorization.url("/device"), session: session)
        _ = try await client.token()
        _ = try await client.authorizeDevice()
        #expect(authorization.forms.count == 1 && proxy.connectionCount == 0)
        // Other requests of the session use it.
        _ = await session.request(authorization.api).response()
        #expect(proxy.connectionCount == 1)
    }

    @Test("an https endpoint is reached through the session's proxy")
    func secureEndpoint() async throws {
        let proxy = Proxy.url(try #require(URL(string: "http://proxy.test:3128")))
        let seen = Lock<[Proxy?]>([])
        let session = Session(
            configuration: SessionConfiguration { $0.proxyRouting = { _ in proxy } },
            transport: MockTransport { request in
                seen.withLock { $0.append(request.transfer.options.proxy) }
                return .json(["access_token": "a"])
            })
        for text in ["https://e.com/token", "HTTPS://127.0.0.1/token", "http://127.0.0.1/token"] {
            let url = try #require(URL(string: text))
            _ = try await OAuth2Client(tokenURL: url, clientID: "c", session: session).token()
        }
        #expect(seen.withLock { $0 } == [proxy, proxy, Proxy.none])
    }

    // MARK: Refresh tokens

    @Test("a refresh token is not sent again during its exchange, even if the first caller was cancelled")
    func repeatedRefresh() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { $0.refreshToken = "SECRET-a" }
        let (entered, mayLeave) = (OneShot<Void>(), OneShot<Void>())
        let client = authorization.client { _, _ in
            entered.resolve(())
            await mayLeave.waitThroughCancellation()
        }
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a")
        let cancelled = Task { await failure { try await client.token(refreshing: old) } }
        await entered.waitThroughCancellation()
        cancelled.cancel()
        #expect(await cancelled.value?.code == .cancelled)
        // Each task runs here until it waits for the exchange, as the refreshes of two interceptors would.
        let waiting = (0..<3).map { _ in Task.immediate { try await client.token(refreshing: old).accessToken } }
        waiting[0].cancel()
        let error = await failure { try await waiting[0].value }
        #expect(error?.code == .cancelled)
        mayLeave.resolve(())
        for task in waiting.dropFirst() { #expect(try await task.value == "SECRET-access-1") }
        // The exchange has ended, and the server has replaced the refresh token.
        #expect(try await client.token(refreshing: old).accessToken == "SECRET-access-1")
        #expect(authorization.forms.count == 1)
    }

    @Test("an interceptor that still has a replaced refresh token gets the new token")
    func lateRefresh() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { ($0.refreshToken, $0.life) = ("SECRET-a", nil) }
        let clock = StoppedClock()
        let client = authorization.client(time: clock.time)
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a", expires: .distantPast)
        for _ in 0..<2 {
            let session = Session(interceptor: client.interceptor(credential: old))
            #expect(try await session.request(authorization.api).string() == "welcome")
        }
        #expect(authorization.forms.count == 1)
        // After the maximum age, the refresh token is sent to the server again.
        _ = await clock.time.pause(OAuth2Refreshes.maximumAge)
        let error = await failure { try await client.token(refreshing: old) }
        #expect(error?.oauth2Error?.code == .invalidGrant)
        #expect(authorization.forms.count == 2)
    }

    @Test("a refresh token that the server has not replaced can be sent again after its exchange")
    func keptRefreshToken() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { ($0.refreshToken, $0.rotates) = ("SECRET-a", false) }
        let client = authorization.client()
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a")
        for count in 1...2 {
            #expect(try await client.token(refreshing: old).accessToken == "SECRET-access-\(count)")
        }
        #expect(authorization.forms.count == 2)
    }

    @Test("all callers of a failed exchange fail, and the next caller sends the refresh token again")
    func failedRefresh() async throws {
        let (arrived, mayAnswer, sent) = (OneShot<Void>(), OneShot<Void>(), Lock(0))
        let session = Session(
            transport: MockTransport { _ in
                sent.withLock { $0 += 1 }
                arrived.resolve(())
                await mayAnswer.waitThroughCancellation()
                return .status(503)
            })
        let url = try #require(URL(string: "https://e.com/token"))
        let client = OAuth2Client(tokenURL: url, clientID: "c", session: session)
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a")
        let first = Task { await failure { try await client.token(refreshing: old) } }
        await arrived.waitThroughCancellation()
        let second = Task.immediate { await failure { try await client.token(refreshing: old) } }
        mayAnswer.resolve(())
        for error in [await first.value, await second.value] { #expect(error?.responseCode == 503) }
        #expect(sent.withLock { $0 } == 1)
        _ = await failure { try await client.token(refreshing: old) }
        #expect(sent.withLock { $0 } == 2)
    }

    @Test("a refresh over a session whose interceptor has the same token sends the refresh token once")
    func sameSession() async throws {
        let interceptor = OAuth2ClientTests.LateInterceptor()
        let sent = Lock(0)
        let session = Session(
            transport: MockTransport { _ in
                sent.withLock { $0 += 1 }
                return .json(["access_token": "new", "refresh_token": "r"])
            }, interceptor: interceptor)
        let url = try #require(URL(string: "https://e.com/token"))
        let client = OAuth2Client(tokenURL: url, clientID: "c", session: session)
        let old = OAuth2Token(accessToken: "old", refreshToken: "r", expires: .distantPast)
        interceptor.own.withLock { $0 = client.interceptor(credential: old) }
        #expect(try await client.token(refreshing: old).accessToken == "new")
        #expect(sent.withLock { $0 } == 1)
        // Ends the cycle of session, interceptor and client.
        interceptor.own.withLock { $0 = nil }
    }

    @Test("onChange may send a request whose interceptor still has the replaced token", arguments: [0, 120])
    func requestInsideChange(seconds: Int) async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { ($0.refreshToken, $0.life) = ("SECRET-a", nil) }
        let (clock, pages) = (StoppedClock(), Lock<[String?]>([]))
        let (other, api) = (Lock<Session?>(nil), authorization.api)
        let client = authorization.client(time: clock.time) { _, _ in
            // The exchange does not end before this closure returns.
            _ = await clock.time.pause(.seconds(seconds))
            let page = try? await other.withLock { $0 }?.request(api).string()
            pages.withLock { $0.append(page) }
        }
        let old = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a", expires: .distantPast)
        let session = Session(interceptor: client.interceptor(credential: old))
        other.withLock { $0 = Session(interceptor: client.interceptor(credential: old)) }
        #expect(try await session.request(api).string() == "welcome")
        #expect(pages.withLock { $0 } == ["welcome"])
        #expect(authorization.forms.map { $0["refresh_token"] } == ["SECRET-a"])
        // Ends the cycle of client and session.
        other.withLock { $0 = nil }
    }

    @Test("onChange may refresh the token that it received, even if the refresh token has not changed")
    func refreshInsideChange() async throws {
        let authorization = try AuthorizationServer()
        authorization.state.withLock { ($0.refreshToken, $0.rotates) = ("SECRET-a", false) }
        let (own, seen) = (Lock<OAuth2Client?>(nil), Lock<[String]>([]))
        let client = authorization.client { new, _ in
            let count = seen.withLock {
                $0.append(new.accessToken)
                return $0.count
            }
            if count == 1 { _ = try? await own.withLock { $0 }?.token(refreshing: new) }
        }
        own.withLock { $0 = client }
        _ = try await client.token(refreshing: OAuth2Token(accessToken: "a", refreshToken: "SECRET-a"))
        #expect(seen.withLock { $0 } == ["SECRET-access-1", "SECRET-access-2"])
        own.withLock { $0 = nil }
    }
}
