import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// A handle that is used for its last origin again gets only the path and the query. The request must be the one that
/// libcurl makes from the URL's whole text. The tests obtain that request with a fragment, which makes libcurl parse
/// the whole text and is not sent.
@Suite("URLs that libcurl gets in parts", .timeLimit(.minutes(4)))
struct URLPartsTests {
    static let odd: [String] = [
        "", "/", "//", "///", "//double", "//double//slash//", "/a", "/a/", "/a/b", "/a//b", "/A/a", "/0", "/_-.~",
        "?", "?q", "/?", "/?q", "/??", "/???", "/?a?b", "/a?", "/a??", "/a?b", "/a?c", "/b?c", "/a?b=c&d=e", "/a?&",
        "/a?&&", "/a?=", "/a?==", "/a?1", "/a?12", "/a?123", "/aa?12", "/aaa?1", "/;", "/;params", "/a;b=c;d", "/a;?;",
        "/.", "/..", "/./", "/../", "/...", "/.../", "/a/.", "/a/..", "/a/./b", "/a/../b", "/a/b/../../c", "/../../x",
        "/.hidden", "/a/.b", "/a.", "/a..", "/a.b", "/a./b", "/a../b", "/a?.", "/a?/../b", "/a?x=/./y", "/?/a/../b",
        "/%41", "/%61", "/%2e%2e/x", "/a/%2E/b", "/%2F", "/%2f", "/%00", "/%ff", "/%FF", "/%aB", "/%7E", "/%20", "/%25",
        "/a?%2B", "/a?%2b", "/a?%20", "/a?b=%C3%BC", "/a?b=%c3%bc", "/a%", "/a?%", "/a?%4", "/a?%zz",
        "#", "/#", "/#f", "/a#f", "/a?b#c", "/a#b?c", "/#/../x", "/a?#", "/a?b#", "/a/..#x",
        "/a:b", "/:80", "/@", "/a@b", "/user:password@host/", "/a,b", "/~user", "/a+b", "/!$&'()*+,;=",
        "/a?!$&'()*+,;=:@/?", "/a?[x]=1", "/[a]", "/a|b", "/a?b|c", "/{x}", "/^", "/`", "/\"", "/<>", "/a?<>",
        "/a\\b", "/a?\\", "/a b", "/a?b c", "/ü", "/a?ü", "/日本?語",
        "/http://other/", "/http:/other", "/?http://other/x?y", "/a?to=//x", "/a?to=http://u:p@x:1/",
        "/" + String(repeating: "p", count: 2_000), "/a?" + String(repeating: "q", count: 2_000),
        "/" + String(repeating: "p/", count: 1_500) + "?" + String(repeating: "q", count: 3_000),
        "/" + String(repeating: "p/", count: 1_500) + "?" + String(repeating: "q", count: 2_999) + "r",
        "/last",
    ]

    private func targets(_ text: String, _ transport: CurlTransport, _ server: TestServer) async throws -> String {
        let url = try #require(URL(string: text))
        server.clearRequests()
        _ = try await transport.fetch(request(url))
        let sent = try #require(server.requests.last)
        return "\(sent.target) \(sent.headers["Host"] ?? "")"
    }

    private func compare(_ origin: String, _ transport: CurlTransport, _ server: TestServer) async throws {
        for (index, text) in Self.odd.enumerated() {
            let whole = text.contains("#") ? origin + text : origin + text + "#whole"
            let expected = try await targets(whole, transport, server)
            let other = origin + Self.odd[(index * 7 + 3) % Self.odd.count]
            // Sends each URL after its whole text, after itself, and after another URL.
            for before in [whole, origin + text, other] {
                _ = try await targets(before, transport, server)
                #expect(try await targets(origin + text, transport, server) == expected)
            }
        }
    }

    @Test func plainURLsAreSentAsByLibcurl() async throws {
        try await withTransport { transport, server in
            try await compare("http://127.0.0.1:\(server.port)", transport, server)
            #expect(transport.statistics.easyHandlesIdle == 1)
        }
    }

    @Test func proxyReceivesTheWholeURL() async throws {
        let proxy = try TestServer()
        try await withTransport({ $0.proxy = .url(proxy.url("/")) }) { transport, _ in
            try await compare("http://origin.test:81", transport, proxy)
            try await compare("HTTP://Origin.test", transport, proxy)
        }
        proxy.stop()
    }

    @Test func urlPartsReachTheirOrigin() async throws {
        let second = try TestServer()
        try await withTransport { transport, first in
            let origins = [
                ("http://127.0.0.1:\(first.port)", first), ("http://127.0.0.1:\(second.port)", second),
                ("http://localhost:\(first.port)", first), ("http://LOCALHOST:\(first.port)", first),
                ("http://user:secret@127.0.0.1:\(second.port)", second), ("HTTP://127.0.0.1:\(first.port)", first),
            ]
            for round in 0..<4 {
                for (index, (origin, server)) in origins.enumerated() {
                    for path in ["/same", "/same?\(round)", "/\(round)", "/\(round)?\(index)"] {
                        let host = origin.split(separator: "/").last?.split(separator: "@").last ?? ""
                        let sent = try await targets(origin + path, transport, server)
                        #expect(sent.lowercased() == "\(path) \(host)".lowercased())
                        let credentials = server.requests.last?.headers["Authorization"]
                        #expect((credentials != nil) == origin.contains("@"))
                    }
                }
            }
            #expect(transport.statistics.easyHandlesIdle == 1)
        }
        second.stop()
    }

    /// Digest signs the target. The handle is reset before and after such a request.
    @Test func digestSignsTheSentTarget() async throws {
        try await withTransport { transport, server in
            for round in 0..<4 {
                for path in ["/digest-auth/auth/user/secret?\(round)", "/digest-auth/auth/user/secret"] {
                    let answer = try await transport.fetch(
                        request(server.url(path)) {
                            $0.options.authentication = TransferAuthentication(
                                scheme: .digest, username: "user", password: "secret")
                        })
                    #expect(answer.status == 200)
                    #expect(server.requests.last?.target == path)
                    #expect(server.requests.last?.headers["Authorization"]?.contains("uri=\"\(path)\"") == true)
                    _ = try await transport.fetch(request(server.url("/bytes/\(round)?\(path.utf8.count)")))
                    #expect(server.requests.last?.target == "/bytes/\(round)?\(path.utf8.count)")
                    #expect(server.requests.last?.headers["Authorization"] == nil)
                }
            }
        }
    }

    @Test func concurrentRequestsUseTheirOwnURLs() async throws {
        try await withTransport { transport, server in
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                    for count in 0..<64 {
                        let query = count % 3 == 0 ? "" : "?\(count)"
                        let url = server.url("/bytes/\(count)\(query)")
                        group.addTask { (count, try await transport.fetch(request(url)).sink.body.count) }
                    }
                    for try await (count, got) in group { #expect(got == count) }
                }
            }
        }
    }
}
