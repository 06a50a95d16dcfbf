import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("Requests to an authorization server", .timeLimit(.minutes(4)))
struct OAuth2ServerTests {
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
}
