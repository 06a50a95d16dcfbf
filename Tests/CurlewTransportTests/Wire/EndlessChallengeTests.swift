import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Endless authentication challenges", .timeLimit(.minutes(4)))
struct EndlessChallengeTests {
    /// The server calls every nonce stale.
    @Test(arguments: [HTTPMethod.get, .post])
    func endlessChallengesAreAnsweredThreeTimes(_ method: HTTPMethod) async throws {
        try await withTransport { transport, server in
            server.route("/x") { request in
                .text("no", status: 401).header(
                    "WWW-Authenticate",
                    "Digest realm=\"r\", nonce=\"\(request.indexOnConnection)\", qop=\"auth\", stale=true")
            }
            let body: BodySource = method == .post ? .data(Data("pay".utf8)) : .none
            let result = try await transport.fetch(
                request(server.url("/x"), method: method, body: body) {
                    $0.options.authentication = TransferAuthentication(scheme: .digest, username: "u", password: "p")
                })
            #expect(result.status == 401)
            #expect(server.requests.count == 4)
        }
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func endlessProxyChallengesAreAnsweredThreeTimes(_ method: HTTPMethod) async throws {
        try await withTransport { transport, server in
            server.route("/x") { request in
                .text("no", status: 407).header(
                    "Proxy-Authenticate",
                    "Digest realm=\"r\", nonce=\"\(request.indexOnConnection)\", qop=\"auth\", stale=true")
            }
            let body: BodySource = method == .post ? .data(Data("pay".utf8)) : .none
            let result = try await transport.fetch(
                request(try #require(URL(string: "http://origin.test/x")), method: method, body: body) {
                    $0.options.proxy = .url(server.url("/"), username: "u", password: "p")
                })
            #expect(result.status == 407)
            #expect(server.requests.count == 4)
        }
    }

    @Test func endlessProxyChallengesEndTheTunnel() async throws {
        let asked = Lock(0)
        let proxy = try ByteServer { peer in
            while peer.readHead().hasPrefix("CONNECT ") {
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                peer.write(
                    """
                    HTTP/1.1 407 no\r\nContent-Length: 0\r\nProxy-Authenticate: Digest realm="r", nonce="\(count)", \
                    qop="auth", stale=true\r\n\r\n
                    """)
            }
        }
        try await withTransport { transport, _ in
            let url = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
            let error = await transport.failure(
                request(try #require(URL(string: "https://origin.test/"))) {
                    $0.options.proxy = .url(url, username: "u", password: "p")
                })
            #expect(error.code == .proxyFailed)
            #expect(error.responseCode == 407)
            #expect(asked.withLock { $0 } < 20)
        }
    }
}
