import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Connection options", .timeLimit(.minutes(4)))
struct ConnectionOptionTests {
    @Test func credentialsComeFromANetrcFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "netrc-\(UUID())")
        try "machine 127.0.0.1 login user password secret\n".write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withTransport({ $0.netrc = .file(file) }) { transport, server in
            let answer = try await transport.fetch(request(server.url("/basic-auth/user/secret")))
            #expect(answer.status == 200)
            // A host that the file does not name gets no credentials.
            let elsewhere = try #require(URL(string: "http://localhost:\(server.port)/basic-auth/user/secret"))
            let refused = try await transport.fetch(request(elsewhere))
            #expect(refused.status == 401)
            #expect(server.requests.last?.headers["Authorization"] == nil)
            // The request's credentials take precedence.
            let own = try await transport.fetch(
                request(server.url("/basic-auth/me/mine")) {
                    $0.options.authentication = TransferAuthentication(scheme: .basic, username: "me", password: "mine")
                })
            #expect(own.status == 200)
        }
        try await withTransport { transport, server in
            let answer = try await transport.fetch(request(server.url("/basic-auth/user/secret")))
            #expect(answer.status == 401)
        }
    }

    @Test func aMissingNetrcFileIsNoFailure() async throws {
        try await withTransport({ $0.netrc = .file(URL(filePath: "/nonexistent/netrc")) }) { transport, server in
            let answer = try await transport.fetch(request(server.url("/get")))
            #expect(answer.status == 200)
        }
    }

    @Test func configuredLocalAddressIsUsed() async throws {
        try await withTransport({ $0.localAddress = "127.0.0.2" }) { transport, server in
            let answer = try await transport.fetch(request(server.url("/get")))
            let port = try #require(server.requests.last?.peerPort)
            #expect(answer.outcome.metrics.localAddress == "127.0.0.2:\(port)")
        }
    }

    @Test func aLocalAddressOfAnotherMachineIsAConnectFailure() async throws {
        try await withTransport({ $0.localAddress = "192.0.2.77" }) { transport, server in
            let error = await transport.failure(request(server.url("/get")))
            #expect(error.code == .connectFailed, "\(error)")
            #expect(error.native?.number == 45)
        }
    }

    @Test func ipVersionDecidesTheAddress() async throws {
        // The name has addresses of both versions. The server listens on the IPv4 address.
        let overrides = ["both.test": ["127.0.0.1", "::1"]]
        try await withTransport({
            $0.dns.overrides = overrides
            $0.dns.ipVersion = .v4
        }) { transport, server in
            let url = try #require(URL(string: "http://both.test:\(server.port)/get"))
            let answer = try await transport.fetch(request(url))
            #expect(answer.status == 200)
            #expect(answer.outcome.metrics.remoteAddress == "127.0.0.1:\(server.port)")
        }
        try await withTransport({
            $0.dns.overrides = overrides
            $0.dns.ipVersion = .v6
        }) { transport, server in
            let url = try #require(URL(string: "http://both.test:\(server.port)/get"))
            let error = await transport.failure(request(url))
            #expect(error.code == .connectFailed || error.code == .resolveFailed, "\(error)")
            #expect(server.connectionCount == 0)
        }
    }

    @Test func overriddenHostKeepsItsName() async throws {
        try await withTransport({ $0.dns.overrides = ["one.test": ["127.0.0.1"]] }) { transport, server in
            let url = try #require(URL(string: "http://one.test:\(server.port)/get"))
            let answer = try await transport.fetch(request(url))
            #expect(answer.status == 200)
            #expect(server.requests.last?.headers["Host"] == "one.test:\(server.port)")
            let escaped = try #require(URL(string: "http://on%65.test:\(server.port)/get"))
            #expect(try await transport.fetch(request(escaped)).status == 200)
            #expect(server.requests.last?.headers["Host"] == "one.test:\(server.port)")
            let other = try #require(URL(string: "http://other.one.test.invalid:\(server.port)/get"))
            #expect(await transport.failure(request(other)).code == .resolveFailed)
        }
    }

    @Test func headSizeLimitCoversAllLines() async throws {
        try await withTransport({ $0.maximumHeaderSize = 4000 }) { transport, server in
            server.route("/lines/{count}") { call in
                var response = TestServer.Response.text("x")
                for index in 0..<(Int(call.parameters["count"] ?? "") ?? 0) {
                    response = response.header("X-\(index)", String(repeating: "a", count: 90))
                }
                return response
            }
            let fits = try await transport.fetch(request(server.url("/lines/30")))
            #expect(fits.status == 200)
            let error = await transport.failure(request(server.url("/lines/60")))
            #expect(error.code == .limitExceeded)
            #expect(!error.isSafeToRetry)
        }
    }
}
