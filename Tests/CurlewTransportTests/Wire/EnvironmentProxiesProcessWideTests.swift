import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Glibc
import Testing

/// The environment names a different proxy for each scheme. It belongs to the whole process, so these tests run
/// alone.
@Suite("Different proxies of the environment", .serialized, .timeLimit(.minutes(4)))
struct EnvironmentProxiesProcessWideTests {
    /// libcurl before 8.21 keeps the answer to one proxy's challenge in the handle and sends it to the other proxy
    /// (CVE-2026-8927).
    @Test(arguments: ["bob:word@", ""])
    func proxyAuthorizationIsNotSentToAnotherProxy(_ credentials: String) async throws {
        let (atFirst, atOther) = (Lock<[String]>([]), Lock<[String]>([]))
        let first = try ByteServer { peer in
            while true {
                let head = peer.readHead()
                if head.isEmpty { return }
                atFirst.withLock { $0.append(head) }
                let isAnswered = head.contains("Proxy-Authorization: Digest")
                peer.write(
                    isAnswered
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
                            + "Content-Length: 0\r\n\r\n")
            }
        }
        let other = try ByteServer { peer in
            let head = peer.readHead()
            atOther.withLock { $0.append(head) }
            peer.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        }
        setenv("http_proxy", "http://ada:secret@127.0.0.1:\(first.port)", 1)
        setenv("https_proxy", "http://\(credentials)127.0.0.1:\(other.port)", 1)
        defer {
            unsetenv("http_proxy")
            unsetenv("https_proxy")
        }
        // With a fixed version of HTTP, requests for http and https have equal settings, so one handle serves both.
        try await withTransport({
            $0.proxy = .environment
            $0.httpVersion = .http1_1
        }) { transport, _ in
            let answer = try await transport.fetch(request(try #require(URL(string: "http://host.test/"))))
            #expect(answer.status == 200)
            let error = await transport.failure(request(try #require(URL(string: "https://host.test/"))))
            #expect(error.code == .proxyFailed, "\(error)")
        }
        #expect(atFirst.withLock { $0 }.last?.contains("username=\"ada\"") == true)
        let heads = atOther.withLock { $0 }
        #expect(heads.count == 1 && heads[0].hasPrefix("CONNECT host.test:443 "))
        #expect(!heads.joined().contains("Proxy-Authorization"), "\(heads)")
    }
}
