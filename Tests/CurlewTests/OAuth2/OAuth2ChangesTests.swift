import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("Calls of onChange for OAuth 2 tokens", .timeLimit(.minutes(4)))
struct OAuth2ChangesTests {
    @Test("a call of onChange begins after the end of the previous one")
    func order() async throws {
        let (seen, mayLeave) = (Lock<[String]>([]), OneShot<Void>())
        let changes = OAuth2Changes { new, _ in
            seen.withLock { $0.append("\(new.accessToken) begins") }
            if new.accessToken == "a" { await mayLeave.waitThroughCancellation() }
            seen.withLock { $0.append("\(new.accessToken) ends") }
        }
        // Each task runs here until it first waits: the first in the handler, the second for the first.
        let first = Task.immediate { await changes.notify(OAuth2Token(accessToken: "a"), replacing: nil) }
        let second = Task.immediate { await changes.notify(OAuth2Token(accessToken: "b"), replacing: nil) }
        #expect(seen.withLock { $0 } == ["a begins"])
        mayLeave.resolve(())
        await first.value
        await second.value
        #expect(seen.withLock { $0 } == ["a begins", "a ends", "b begins", "b ends"])
    }

    @Test("a call of onChange waits for all earlier calls, even if the call before it could not wait for its own")
    func orderAfterACycle() async throws {
        let (seen, mayLeave, refresh) = (Lock<[String]>([]), OneShot<Void>(), OneShot<Void>())
        let changes = OAuth2Changes { new, _ in
            seen.withLock { $0.append("\(new.accessToken) begins") }
            if new.accessToken == "a" {
                // As a request of the handler waits for a refresh.
                _ = await UserCode.waiting(forRefreshOf: ObjectIdentifier(refresh)) {
                    await mayLeave.waitThroughCancellation()
                }
            }
            seen.withLock { $0.append("\(new.accessToken) ends") }
        }
        let first = Task.immediate { await changes.notify(OAuth2Token(accessToken: "a"), replacing: nil) }
        // The token of that refresh: its call must not wait for the handler that waits for the refresh.
        await UserCode.call(by: .refresh(of: ObjectIdentifier(refresh))) {
            await changes.notify(OAuth2Token(accessToken: "b"), replacing: nil)
        }
        #expect(seen.withLock { $0 } == ["a begins", "b begins", "b ends"])
        let third = Task.immediate { await changes.notify(OAuth2Token(accessToken: "c"), replacing: nil) }
        #expect(seen.withLock { $0.count } == 3)
        mayLeave.resolve(())
        await first.value
        await third.value
        #expect(seen.withLock { $0.dropFirst(3) } == ["a ends", "c begins", "c ends"])
    }

    @Test("onChange of a refresh names the replaced token, even if a login ends during the refresh")
    func changes() async throws {
        let authorization = try AuthorizationServer()
        let pkce = try PKCE()
        authorization.state.withLock {
            $0.refreshToken = "SECRET-a"
            $0.codes = ["code": pkce.challenge]
        }
        let (entered, mayLeave) = (OneShot<Void>(), OneShot<Void>())
        let seen = Lock<[String]>([])
        let client = authorization.client { new, former in
            entered.resolve(())
            if former == nil { await mayLeave.waitThroughCancellation() }
            seen.withLock { $0.append("\(former?.accessToken ?? "-") > \(new.accessToken)") }
        }
        async let login = client.token(code: "code", pkce: pkce)
        await entered.waitThroughCancellation()
        // The login's call still runs when this token arrives.
        authorization.state.withLock { $0.refreshToken = "SECRET-a" }
        async let refreshed = client.token(refreshing: OAuth2Token(accessToken: "a", refreshToken: "SECRET-a"))
        try await eventually { authorization.state.withLock { $0.count } >= 2 }
        mayLeave.resolve(())
        _ = try await (login, refreshed)
        #expect(seen.withLock { $0 } == ["- > SECRET-access-1", "a > SECRET-access-2"])
    }

    @Test("onChange may send a request that waits for a refresh whose own call of onChange comes later")
    func requestInsideChange() async throws {
        let authorization = try AuthorizationServer()
        let pkce = try PKCE()
        authorization.state.withLock { $0.codes = ["code": pkce.challenge] }
        let (entered, mayGoOn) = (OneShot<Void>(), OneShot<Void>())
        let session = Lock<Session?>(nil)
        let api = authorization.api
        let client = authorization.client { _, former in
            guard former == nil else { return }
            entered.resolve(())
            await mayGoOn.waitThroughCancellation()
            _ = try? await session.withLock { $0 }?.request(api).data()
        }
        let expired = OAuth2Token(accessToken: "a", refreshToken: "SECRET-a", expires: .distantPast)
        let own = Session(interceptor: client.interceptor(credential: expired))
        session.withLock { $0 = own }
        async let login = client.token(code: "code", pkce: pkce)
        await entered.waitThroughCancellation()
        authorization.state.withLock { $0.refreshToken = "SECRET-a" }
        async let page = own.request(api).string()
        try await eventually { authorization.state.withLock { $0.count } >= 2 }
        mayGoOn.resolve(())
        _ = try await login
        #expect(try await page == "welcome")
        session.withLock { $0 = nil }
    }

    @Test("onChange may request a token itself")
    func changeInsideChange() async throws {
        let authorization = try AuthorizationServer()
        let own = Lock<OAuth2Client?>(nil)
        let seen = Lock<[String]>([])
        let client = authorization.client { new, _ in
            if seen.withLock({ $0.isEmpty }) {
                seen.withLock { $0.append(new.accessToken) }
                _ = try? await own.withLock { $0 }?.token()
            } else {
                seen.withLock { $0.append(new.accessToken) }
            }
        }
        own.withLock { $0 = client }
        _ = try await client.token()
        #expect(seen.withLock { $0 } == ["SECRET-access-1", "SECRET-access-2"])
        own.withLock { $0 = nil }
    }
}
