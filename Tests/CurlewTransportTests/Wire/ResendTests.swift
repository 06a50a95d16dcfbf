import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// libcurl sends a request again by itself if a reused connection ends without a response.
@Suite("Silent repetition of requests", .timeLimit(.minutes(4)))
struct ResendTests {
    private func afterOneExchange(
        method: HTTPMethod,
        _ body: (CurlTransport, TestServer, TransferRequest) async throws -> Void
    ) async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            // The server reads the next request over the same connection and closes without a response.
            server.script("/x", .text("").faulting(.close, at: .beforeHead), .text("again"))
            let second = request(server.url("/x"), method: method)
            try await body(transport, server, second)
        }
    }

    @Test func idempotentRequestIsResent() async throws {
        try await afterOneExchange(method: .get) { transport, server, request in
            let text = try await transport.fetch(request).text
            #expect(text == "again")
            #expect(server.requests.count { $0.target == "/x" } == 2)
        }
    }

    /// libcurl 7.88 to 8.16 counts repetitions over a handle's whole life and gives up at the sixth.
    @Test func resendsAreCountedPerRequest() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            for round in 1...8 {
                server.script("/\(round)", .text("").faulting(.close, at: .beforeHead), .text("again"))
                let text = try await transport.fetch(request(server.url("/\(round)"))).text
                #expect(text == "again")
                #expect(server.requests.count { $0.target == "/\(round)" } == 2)
            }
        }
    }

    @Test func nonIdempotentRequestIsNotResent() async throws {
        try await afterOneExchange(method: .post) { transport, server, request in
            let error = await transport.failure(request)
            #expect(error.code == .receiveFailed)
            #expect(!error.isSafeToRetry)
            #expect(server.requests.count { $0.target == "/x" } == 1)
        }
    }

    @Test(arguments: [0, 3, 300_000])
    func resetIdleConnectionIsNotUsed(_ size: Int) async throws {
        try await withTransport { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .atEnd).faulting(.reset, at: .atEnd))
            _ = try await transport.fetch(request(server.url("/first")))
            gate.open()
            try await server.waitForOpenConnections(atMost: 0)
            let body = TestServer.patternBytes(count: size)
            let answer = try await transport.fetch(
                request(server.url("/post"), method: .post, body: size == 0 ? .none : .data(body)))
            #expect(answer.status == 200)
            let posts = server.requests.filter { $0.target == "/post" }
            #expect(posts.count == 1)
            #expect(posts.first?.body == body)
            #expect(server.connectionCount == 2)
        }
    }

    @Test func answeredChallengeIsNotResent() async throws {
        try await withTransport { transport, server in
            server.script(
                "/x",
                .text("", status: 401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""),
                // The server reads the request with its body and closes the connection. It may have carried the request
                // out.
                .text("").faulting(.close, at: .beforeHead),
                .text("again"))
            let post = request(server.url("/x"), method: .post, body: .data(Data("pay".utf8))) {
                $0.options.authentication = TransferAuthentication(scheme: .digest, username: "u", password: "p")
            }
            let error = await transport.failure(post)
            #expect(error.code == .receiveFailed)
            #expect(!error.isSafeToRetry)
            #expect(server.requests.count { $0.target == "/x" } == 2)
        }
    }

    @Test func authenticationRoundsAreNotRepetitions() async throws {
        try await withTransport { transport, server in
            for body in [BodySource.none, .data(Data("some".utf8)), .data(TestServer.patternBytes(count: 3_000_000))] {
                server.clearRequests()
                let sink = CollectingSink()
                let answer = try await transport.fetch(
                    request(server.url("/digest-auth/auth/user/secret"), method: .post, body: body) {
                        $0.options.authentication = TransferAuthentication(
                            scheme: .digest, username: "user", password: "secret")
                    }, sink)
                #expect(answer.status == 200)
                // One head reaches the sink, because libcurl handles the challenge itself.
                #expect(sink.head?.status == 200)
                let rounds = server.requests
                #expect(rounds.count == 2)
                #expect(rounds.first?.headers["Authorization"] == nil)
                let field = rounds.last?.headers["Authorization"] ?? ""
                #expect(field.hasPrefix("Digest ") && field.contains("response="))
                if case .data(let data) = body { #expect(rounds.last?.body == data) }
            }
        }
    }

    @Test func aWrongDigestPasswordIsA401() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            let answer = try await transport.fetch(
                request(server.url("/digest-auth/auth/user/secret"), method: .post, body: .data(Data("x".utf8))) {
                    $0.options.authentication = TransferAuthentication(
                        scheme: .digest, username: "user", password: "wrong")
                }, sink)
            #expect(answer.status == 401)
            #expect(sink.head?.status == 401)
            #expect(server.requestCount == 2)
        }
    }

    @Test func basicAuthenticationAnswersAndAWrongPasswordIs401() async throws {
        try await withTransport { transport, server in
            for (password, status) in [("secret", 200), ("wrong", 401)] {
                let answer = try await transport.fetch(
                    request(server.url("/basic-auth/user/secret")) {
                        $0.options.authentication = TransferAuthentication(
                            scheme: .any, username: "user", password: password)
                    })
                #expect(answer.status == status)
                #expect(answer.sink.head?.status == status)
            }
        }
    }

    @Test func privateAddressesAreRefusedBeforeTheyAreConnectedTo() async throws {
        try await withTransport({ $0.addressPolicy = .publicOnly }) { transport, server in
            for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "0.0.0.0", "2130706433", "0177.1"] {
                let url = try #require(URL(string: "http://\(host):\(server.port)/get"))
                let error = await transport.failure(request(url))
                #expect(error.code == .addressRefused, "\(host): \(error)")
                #expect(error.phase == .connect)
            }
            #expect(server.connectionCount == 0)
        }
    }

    /// The address of a host that an exclusion exempts from the proxy is checked, in every spelling of the host.
    @Test(arguments: [
        ("127.0.0.0/8", ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127%2E0.0.1"]),
        ("localhost", ["localhost", "LOCALHOST", "localhos%74"]), (".corp", ["intern.corp", "intern%2Ecorp"]),
    ])
    func hostExemptFromTrustedProxyIsChecked(_ exclusion: String, _ hosts: [String]) async throws {
        let proxy = try #require(URL(string: "http://127.0.0.1:1"))
        try await withTransport({
            $0.proxy = .url(proxy, exclusions: [exclusion])
            $0.addressPolicy = .publicOnlyBehind(proxies: [proxy])
            $0.dns.overrides = ["intern.corp": ["127.0.0.1"], "intern%2Ecorp": ["127.0.0.1"]]
        }) { transport, server in
            for host in hosts {
                let url = try #require(URL(string: "http://\(host):\(server.port)/get"))
                for own in [nil, Proxy.url(proxy, exclusions: [exclusion])] {
                    let error = await transport.failure(request(url) { $0.options.proxy = own })
                    #expect(error.code == .addressRefused, "\(host): \(error)")
                }
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.0",
        "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fd00::1", "fe80::1", "64:ff9b::7f00:1",
    ])
    func namesAndLiteralsOfPrivateAddressesAreRefused(_ address: String) async throws {
        let override = ["guarded.test": [address]]
        try await withTransport({
            $0.addressPolicy = .publicOnly
            $0.dns.overrides = override
        }) { transport, server in
            let literal = address.contains(":") ? "[\(address)]" : address
            for host in ["guarded.test", literal] {
                let url = try #require(URL(string: "http://\(host):\(server.port)/get"))
                let error = await transport.failure(request(url, method: .post))
                #expect(error.code == .addressRefused, "\(host): \(error)")
                #expect(error.phase == .connect)
                #expect(error.reason.contains("not a public address"))
                #expect(error.isSafeToRetry)
            }
            #expect(server.connectionCount == 0)
        }
    }
}
