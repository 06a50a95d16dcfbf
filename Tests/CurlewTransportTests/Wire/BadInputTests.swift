import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Bad input", .timeLimit(.minutes(4)))
struct BadInputTests {
    @Test(arguments: [
        "ftp://127.0.0.1/x", "file:///etc/passwd", "/relative", "mailto:a@b", "http://", "http:///path",
        "https://:80/", "http://127.0.0.1:99999/",
    ])
    func refusesURLs(_ text: String) async throws {
        let url = try #require(URL(string: text))
        try await withTransport { transport, _ in
            let error = await transport.failure(request(url))
            #expect(error.code == .invalidURL)
            #expect(error.phase == .creation)
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1:99999/", "65535", nil), ("https:///path", "empty", nil),
        ("ftp://127.0.0.1/x", "not an absolute", nil), ("/a.b/c", "not an absolute", nil),
        ("relative", "not an absolute", nil), ("mailto:a@b.test", "not an absolute", nil),
        ("index.html", "not an absolute", nil), ("index.html?a.b/c", "not an absolute", nil),
        ("a.test/b", "not an absolute", "https://a.test/b"), ("//a.test", "not an absolute", "https://a.test"),
        ("a.test:8443", "not an absolute", "https://a.test:8443"),
        ("//a.test:8443/b", "not an absolute", "https://a.test:8443/b"),
        ("localhost:8080/a", "not an absolute", "https://localhost:8080/a"),
    ])
    func errorExplainsInvalidURL(_ text: String, _ reason: String, _ suggestion: String?) async throws {
        let url = try #require(URL(string: text))
        try await withTransport { transport, _ in
            let error = await transport.failure(request(url))
            #expect(error.reason.contains(reason), "\(error)")
            if let suggestion {
                #expect(error.reason.hasSuffix("; write \(suggestion)"), "\(error)")
            } else {
                #expect(!error.reason.contains("write https://"), "\(error)")
            }
        }
    }

    /// If a SOCKS5 proxy resolves names, libcurl before 8.4 writes a host above 255 bytes into a buffer that is too
    /// small (CVE-2023-38545).
    @Test func refusesAHostThatIsLongerThanAnyName() async throws {
        let proxy = try #require(URL(string: "socks5h://127.0.0.1:1"))
        try await withTransport({ $0.proxy = .url(proxy) }) { transport, _ in
            for (count, code) in [(255, CurlewError.Code.proxyFailed), (256, .invalidURL), (70_000, .invalidURL)] {
                let host = String(repeating: "a", count: count)
                let error = await transport.failure(request(try #require(URL(string: "http://\(host)/"))))
                #expect(error.code == code, "\(count): \(error)")
                #expect(code != .invalidURL || error.reason.contains("255"), "\(error)")
            }
        }
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\0b", "\r"])
    func refusesForgedHeaderValues(_ value: String) async throws {
        try await withTransport { transport, server in
            let own = await transport.failure(request(server.url("/get"), headers: ["X-A": value]))
            #expect(own.code == .invalidHeader)
            let defaults = DefaultHeaders(["X-B": value])
            let shared = await transport.failure(request(server.url("/get")) { $0.defaultHeaders = defaults })
            #expect(shared.code == .invalidHeader)
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: ["", "X A", "X:A", "X\r\nB", "Ü"])
    func refusesHeaderNames(_ name: String) async throws {
        try await withTransport { transport, server in
            let error = await transport.failure(
                request(server.url("/get"), headers: [HTTPHeader(name: name, value: "1")]))
            #expect(error.code == .invalidHeader)
        }
    }

    @Test(arguments: ["GET /evil HTTP/1.1\r\nX", "G ET", "", "GET\n"])
    func refusesMethods(_ method: String) async throws {
        try await withTransport { transport, server in
            let error = await transport.failure(request(server.url("/get"), method: HTTPMethod(rawValue: method)))
            #expect(error.code == .requestCreationFailed)
            #expect(server.connectionCount == 0)
        }
    }

    @Test func refusesABodyWithHEAD() async throws {
        try await withTransport { transport, server in
            let error = await transport.failure(request(server.url("/get"), method: .head, body: .data(Data([1]))))
            #expect(error.code == .invalidBody)
        }
    }

    @Test func missingFilesDirectoriesAndWrongRangesAreUnreadable() async throws {
        try await withTransport { transport, server in
            let missing = URL(filePath: "/nonexistent/file")
            let cases: [(BodySource, String)] = [
                (.file(missing), "ENOENT"), (.file(URL(filePath: "/tmp")), "EISDIR"),
                (.file(URL(filePath: "/etc/passwd"), range: 0..<(1 << 40)), "EINVAL"),
                (.file(URL(filePath: "/dev/null")), "EINVAL"),
            ]
            for (body, native) in cases {
                let error = await transport.failure(request(server.url("/post"), method: .post, body: body))
                #expect(error.code == .fileUnreadable)
                #expect(error.phase == .file)
                #expect(error.native?.name == native)
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test func aClosedPortIsAConnectFailureAndSafeToRetry() async throws {
        try await withTransport { transport, _ in
            let deadEnd = try DeadEnd(.refusing)
            let error = await transport.failure(request(deadEnd.url, method: .post))
            #expect(error.code == .connectFailed)
            #expect(error.phase == .connect)
            #expect(error.native?.number == 7)
            #expect(error.isSafeToRetry)
        }
    }

    @Test func invalidSettingsAreErrors() async throws {
        let changes: [(inout TransportConfiguration) -> Void] = [
            { $0.dns.overrides = ["other.test": ["127.0.0.1", "somewhere"]] },
            { $0.dns.overrides = ["other.test": ["127.0.0.1:80"]] },
            { $0.dns.overrides = ["other.test": ["fe80::1%lo"]] },
            { $0.dns.cacheLifetime = .seconds(-1) }, { $0.dns.cacheLifetime = .seconds(Int64.min) },
            { $0.uploadRateLimit = -1 }, { $0.downloadRateLimit = .min }, { $0.tls.connectTo = ["": "::::"] },
        ]
        for (index, change) in changes.enumerated() {
            try await withTransport(change) { transport, server in
                let error = await transport.failure(request(server.url("/get")))
                #expect(error.code == .requestCreationFailed, "\(index): \(error)")
            }
        }
        try await withTransport({ $0.dns.cacheLifetime = .seconds(Int64.max) }) { transport, server in
            let status = try await transport.fetch(request(server.url("/get"))).status
            #expect(status == 200)
            let error = await transport.failure(request(server.url("/get")) { $0.options.uploadRateLimit = -1 })
            #expect(error.code == .requestCreationFailed, "\(error)")
        }
    }

    @Test func anUnknownNameIsAResolveFailure() async throws {
        try await withTransport { transport, _ in
            let error = await transport.failure(request(URL(string: "http://no-such-host.invalid/")!))
            #expect(error.code == .resolveFailed)
            #expect(error.phase == .resolve)
            #expect(error.native?.number == 6)
            #expect(error.isSafeToRetry)
        }
    }

    @Test func truncatedBodyIsAnError() async throws {
        try await withTransport { transport, server in
            server.script(
                "/cut", .raw(["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"]),
                .raw(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"]))
            for _ in 0..<2 {
                let sink = CollectingSink()
                let error = await transport.failure(request(server.url("/cut")), sink)
                #expect(error.code == .truncated)
                #expect(error.phase == .receive)
                #expect(error.responseCode == 200)
                #expect(error.native?.number == 18)
                #expect(error.isSafeToRetry)
            }
        }
    }

    @Test(arguments: ["zzz\r\nhello\r\n0\r\n\r\n", "5\r\nhello+0\r\n\r\n", "FFFFFFFFFFFFFFFFFF\r\nx\r\n"])
    func malformedChunkIsAnError(_ body: String) async throws {
        try await withTransport { transport, server in
            server.script("/broken", .raw(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body]))
            let error = await transport.failure(request(server.url("/broken")))
            #expect(error.code == .receiveFailed || error.code == .truncated || error.code == .protocolViolation)
            #expect(error.phase == .receive)
            #expect(error.native != nil)
        }
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "garbage\r\n\r\n", "\u{0}\u{1}\u{2}", "HTTP/9.9 whatever\r\n\r\n"])
    func garbageInsteadOfAStatusLineIsAProtocolViolation(_ text: String) async throws {
        try await withTransport { transport, server in
            server.scriptNextConnection(.raw([text]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation)
            #expect(error.native != nil)
        }
    }

    @Test(
        "a version that the connection does not speak is a protocol violation", arguments: ["HTTP/2 200", "HTTP/3 200"])
    func refusesAVersionInTextThatTheConnectionDoesNotSpeak(_ line: String) async throws {
        try await withTransport { transport, server in
            server.script("/x", .raw(["\(line) \r\nContent-Length: 5\r\n\r\nhello"]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation, "\(error)")
        }
    }

    @Test(arguments: ["HTTP/2 103 \r\n\r\n", "HTTP/2 200 \r\nX: 1\r\n"])
    func wrongVersionIsRefusedBeforeEndOfHead(_ text: String) async throws {
        try await withTransport { transport, server in
            let gate = Gate()
            let response = TestServer.Response.raw([text, "HTTP/1.1 200 OK\r\n\r\n"])
            server.script("/x", response.stalling(until: gate, at: .inBody(after: Int64(text.utf8.count))))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation, "\(error)")
            gate.open()
        }
    }

    @Test func unrequestedProtocolSwitchIsRefused() async throws {
        try await withTransport { transport, server in
            let switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
            server.script("/x", .raw([switching + "hello"]), .raw([switching + "hello"]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation, "\(error)")
            #expect(error.reason.contains("did not ask for"), "\(error)")
            let asked = try await transport.fetch(request(server.url("/x"), headers: ["Upgrade": "x"]))
            #expect(asked.status == 101)
        }
    }

    @Test(arguments: [
        "Content-Length: 5\r\nContent-Length: 10", "Content-Length: 10\r\nContent-Length: 5", "Content-Length: 5, 10",
        "Content-Length: 18446744073709551620", "Content-Length: 99999999999999999999999999999999",
        "Content-Length: 0x20", "Content-Length: 5s", "Content-Length: 5,", "Content-Length: ",
    ])
    func invalidContentLengthIsAProtocolViolation(_ fields: String) async throws {
        try await withTransport { transport, server in
            server.script("/x", .raw(["HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhellohello"]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation)
            #expect(error.reason.contains("Content-Length"))
        }
    }

    @Test func invalidBytesInLocationAreEscaped() async throws {
        try await withTransport { transport, server in
            let head = Data("HTTP/1.1 302 There\r\nContent-Length: 0\r\nLocation: /next?".utf8)
            server.route("/x") { _ in .raw([head + Data([0xFF]) + Data("\r\n\r\n".utf8)]) }
            let result = try await transport.fetch(request(server.url("/x")))
            #expect(result.outcome.head.headers["Location"] == "/next?%FF")
        }
    }

    @Test func repeatedEqualContentLengthIsAccepted() async throws {
        try await withTransport { transport, server in
            server.script("/x", .raw(["HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"]))
            let got = try await transport.fetch(request(server.url("/x")))
            #expect(got.text == "hello")
        }
    }

    @Test func connectionClosedBeforeResponseIsAnError() async throws {
        try await withTransport { transport, server in
            server.script(
                "/x", .text("").faulting(.close, at: .beforeHead), .text("").faulting(.reset, at: .beforeHead))
            for _ in 0..<2 {
                let error = await transport.failure(request(server.url("/x"), method: .post))
                #expect(error.code == .receiveFailed)
                #expect(!error.isSafeToRetry)
            }
        }
    }

    @Test func hugeHeadFailsWithLimitExceeded() async throws {
        try await withTransport { transport, server in
            let huge = String(repeating: "x", count: 1 << 20)
            let many = (0..<8000).map { "X-\($0): \(String(repeating: "y", count: 100))\r\n" }.joined()
            server.script(
                "/h", .raw(["HTTP/1.1 200 OK\r\nX-Huge: \(huge)\r\n\r\n"]), .raw(["HTTP/1.1 200 OK\r\n\(many)\r\n"]))
            for _ in 0..<2 {
                let error = await transport.failure(request(server.url("/h")))
                #expect(error.code == .limitExceeded)
                #expect(!error.reason.lowercased().contains("memory"), "\(error.reason)")
                #expect(error.native != nil)
                #expect(!error.isSafeToRetry)
            }
        }
    }

    @Test func configuredHeaderLimitApplies() async throws {
        try await withTransport({ $0.maximumHeaderSize = 500 }) { transport, server in
            server.route("/h") { _ in .text("x").header("X-Long", String(repeating: "a", count: 600)) }
            #expect(await transport.failure(request(server.url("/h"))).code == .limitExceeded)
        }
    }

    @Test func headTooLargeForLibcurlFailsWithLimitExceeded() async throws {
        try await withTransport({ $0.maximumHeaderSize = 4 << 20 }) { transport, server in
            server.route("/x") { _ in
                var response = TestServer.Response.text("x")
                for index in 0..<90 {
                    response = response.header("X-\(index)", String(repeating: "a", count: 8000))
                }
                return response
            }
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .limitExceeded)
        }
    }

    @Test func aBodyStopsAtItsLimitAfterDecoding() async throws {
        try await withTransport { transport, server in
            // Compresses 10 MiB of zeros to about 10 KiB.
            let bomb = try #require(CodedBodies.gzip(of: Data(count: 10 << 20)))
            server.route("/bomb") { _ in .data(bomb).header("Content-Encoding", "gzip") }
            let sink = CollectingSink()
            let error = await transport.failure(
                request(server.url("/bomb")) { $0.options.maximumBodySize = 100_000 }, sink)
            #expect(error.code == .limitExceeded)
            #expect(sink.body.count <= 100_000)
            let all = try await transport.fetch(request(server.url("/bomb")) { $0.options.maximumBodySize = 10 << 20 })
            #expect(all.sink.body.count == 10 << 20)
            let raw = try await transport.fetch(request(server.url("/bomb")) { $0.options.decodesContent = false })
            #expect(raw.sink.body == bomb)
        }
    }

    @Test func brokenContentCodingIsItsOwnError() async throws {
        try await withTransport { transport, server in
            server.route("/bad") { _ in .text("this is no gzip").header("Content-Encoding", "gzip") }
            let error = await transport.failure(request(server.url("/bad")))
            #expect(error.code == .contentDecodingFailed)
            #expect(error.native?.number == 61)
        }
    }
}
