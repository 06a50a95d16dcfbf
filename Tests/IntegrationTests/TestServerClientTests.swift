import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Checks the HTTP/2 of `TestServer` with clients of other projects.
@Suite("TestServer with clients of other projects", .foreignClients, .timeLimit(.minutes(4)))
struct TestServerClientTests {
    typealias Response = TestServer.Response

    enum Way: CaseIterable { case plain, tls }

    private func server(_ way: Way) throws -> TestServer {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2, .http1]
        if way == .tls { configuration.tls = TestServer.TLS() }
        return try TestServer(configuration)
    }

    private func curl(_ way: Way, _ arguments: String...) async throws -> ProbeProcess.Outcome {
        let version = way == .tls ? "--http2" : "--http2-prior-knowledge"
        let usual = [
            version, "--silent", "--insecure", "--noproxy", "*", "--write-out", "\n%{http_version} %{http_code}",
        ]
        return try await ForeignClient.curl.run(usual + arguments)
    }

    /// Writes a body of `count` bytes, and returns the path of its file.
    private func file(_ count: Int, in scratch: ScratchDirectory) throws -> String {
        try scratch.write("body", TestServer.patternBytes(count: count)).path
    }

    // MARK: curl

    /// The lengths are those of a frame and of a stream's window, one byte more, and much more.
    @Test(arguments: Way.allCases, [0, 1, 16_384, 65_535, 65_536, 3_000_000])
    func serverReceivesBodyFromCurl(way: Way, count: Int) async throws {
        let (server, scratch) = (try server(way), try ScratchDirectory())
        let body = try file(count, in: scratch)
        let outcome = try await curl(way, "--data-binary", "@" + body, server.url("/upload").absoluteString)
        #expect(outcome.status == 0 && outcome.output.hasSuffix("\n2 200"), "\(outcome)")
        let request = try #require(server.requests.first)
        #expect(request.version == .http2 && request.method == "POST" && request.isBodyComplete)
        #expect(request.body == TestServer.patternBytes(count: count))
    }

    @Test(arguments: Way.allCases, [0, 1, 65_536, 10_000_000])
    func curlReceivesBodyFromServer(way: Way, count: Int) async throws {
        let (server, scratch) = (try server(way), try ScratchDirectory())
        let url = server.url("/bytes/\(count)").absoluteString
        let outcome = try await curl(way, "--output", scratch.file("answer").path, url)
        #expect(outcome.status == 0 && outcome.output.hasSuffix("\n2 200"), "\(outcome)")
        #expect((scratch.read("answer") ?? Data()) == TestServer.patternBytes(count: count))
    }

    @Test(arguments: Way.allCases) func curlReceivesEchoWhileSending(way: Way) async throws {
        let (server, scratch) = (try server(way), try ScratchDirectory())
        server.script("/echo", Response(body: .echo))
        let body = try file(3_000_000, in: scratch)
        let url = server.url("/echo").absoluteString
        let outcome = try await curl(way, "--data-binary", "@" + body, "--output", scratch.file("answer").path, url)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(scratch.read("answer") == TestServer.patternBytes(count: 3_000_000))
    }

    /// A server may ignore an upgrade (RFC 9113, 3.1) and respond with HTTP/1.1.
    @Test(arguments: ["GET", "POST"]) func upgradeByCurlIsIgnored(method: String) async throws {
        let server = try server(.plain)
        let body = method == "POST" ? ["--data", "abc"] : []
        let outcome = try await ForeignClient.curl.run(
            ["--http2", "--silent", "--noproxy", "*", "--output", "/dev/null"]
                + ["--write-out", "%{http_version} %{http_code}"] + body + [server.url("/anything").absoluteString])
        #expect(outcome.output == "1.1 200", "\(outcome)")
        let request = try #require(server.requests.first)
        #expect(request.headers["Upgrade"] == "h2c" && request.bodyByteCount == (method == "POST" ? 3 : 0))
    }

    /// The statuses are curl's: 18 for a truncated body, 92 for a stream error, and 56 for a reset connection. A close
    /// becomes a reset if the server has not read everything, for example curl's acknowledgement of the settings.
    @Test(
        arguments: Way.allCases,
        [(TestServer.Fault.Action.close, [18, 56]), (.reset, [92]), (.halfClose, [18, 92])] as [(_, [Int32])])
    func curlReportsFaultsOfTheServer(way: Way, fault: (action: TestServer.Fault.Action, codes: [Int32])) async throws {
        let server = try server(way)
        server.script("/fault", .bytes(100_000).faulting(fault.action, at: .inBody(after: 50_000)))
        let outcome = try await curl(way, "--output", "/dev/null", server.url("/fault").absoluteString)
        #expect(fault.codes.contains(outcome.status), "\(outcome)")
        #expect(try await curl(way, server.url("/bytes/3").absoluteString).status == 0)
    }

    // MARK: nghttp

    @Test(arguments: Way.allCases) func nghttpOpensMoreStreamsThanTheLimit(way: Way) async throws {
        let server = try server(way)
        let url = server.url("/bytes/1000").absoluteString
        let outcome = try await ForeignClient.nghttp.run("--no-verify-peer", "-n", "-s", "-m", "300", url)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").count { $0.contains(" 200 1000 /bytes/1000") } == 300)
        #expect(server.requests.count == 300 && server.connectionCount == 1)
    }

    /// Covers padding, CONTINUATION frames, 100 (Continue) and trailers, in both directions.
    @Test(arguments: Way.allCases) func nghttpSendsEveryKindOfFrame(way: Way) async throws {
        let (server, scratch) = (try server(way), try ScratchDirectory())
        server.script(
            "/up",
            Response.text("taken").changed {
                $0.trailers = ["X-Sum": "5"]
                $0.expectation = .answer
            })
        let outcome = try await ForeignClient.nghttp.run(
            "--no-verify-peer", "-v", "--padding=255", "--continuation", "--expect-continue", "--trailer=x-end: yes",
            "--data=" + (try file(500_000, in: scratch)), server.url("/up").absoluteString)
        #expect(outcome.status == 0, "\(outcome.errors)")
        for part in [":status: 100", ":status: 200", "x-sum: 5", "taken"] { #expect(outcome.output.contains(part)) }
        let request = try #require(server.requests.first)
        #expect(request.body == TestServer.patternBytes(count: 500_000))
        #expect(request.trailers == ["x-end": "yes"])
        #expect(request.headers.contains { $0.name == "continuation-test-1" })
    }

    /// With windows of 255 bytes, the response waits about four hundred times until the client has read.
    @Test(arguments: Way.allCases) func nghttpReadsWithSmallWindows(way: Way) async throws {
        let server = try server(way)
        let url = server.url("/bytes/100000").absoluteString
        let outcome = try await ForeignClient.nghttp.run("--no-verify-peer", "-n", "-s", "-w", "8", url)
        #expect(outcome.output.contains("97K /bytes/100000"), "\(outcome)")
    }

    @Test(arguments: Way.allCases) func nghttpReceivesResetAndGoAway(way: Way) async throws {
        let server = try server(way)
        server.script("/reset", .text("abcdef").faulting(.reset, at: .inBody(after: 3)))
        server.script("/closing", .text("well").closing())
        let reset = try await ForeignClient.nghttp.run("--no-verify-peer", "-v", server.url("/reset").absoluteString)
        #expect(reset.output.contains("recv RST_STREAM") && reset.output.contains("INTERNAL_ERROR"))
        let closing = try await ForeignClient.nghttp.run(
            "--no-verify-peer", "-v", server.url("/closing").absoluteString)
        #expect(closing.output.contains("recv GOAWAY") && closing.output.contains("NO_ERROR"))
    }

    // MARK: h2load

    @Test(
        arguments: Way.allCases,
        [
            ["-n", "3000", "-c", "4", "-m", "100"],
            ["-n", "100", "-c", "2", "-m", "20", "-w", "16", "-W", "16"],
            ["-n", "1000", "-c", "10", "-m", "10", "--header-table-size=0", "--encoder-header-table-size=0"],
        ])
    func h2loadRequestsAllSucceed(way: Way, load: [String]) async throws {
        let server = try server(way)
        let count = load.contains("-w") ? 300_000 : 100
        let outcome = try await ForeignClient.h2load.run(load + [server.url("/bytes/\(count)").absoluteString])
        #expect(outcome.output.contains(" \(load[1]) succeeded, 0 failed, 0 errored, 0 timeout"), "\(outcome.output)")
        #expect(server.requestCount == Int(load[1]))
    }

    @Test(arguments: Way.allCases) func h2loadSendsBodies(way: Way) async throws {
        let (server, scratch) = (try server(way), try ScratchDirectory())
        let body = try file(200_000, in: scratch)
        let url = server.url("/upload").absoluteString
        let outcome = try await ForeignClient.h2load.run("-n", "100", "-c", "3", "-m", "10", "-d", body, url)
        #expect(outcome.output.contains(" 100 succeeded, 0 failed, 0 errored, 0 timeout"), "\(outcome.output)")
        #expect(server.requests.allSatisfy { $0.bodyByteCount == 200_000 })
        #expect(Set(server.requests.map(\.bodySHA256)).count == 1)
    }

    // MARK: openssl

    /// A client that negotiates HTTP/2 and sends something else receives the reason in a GOAWAY frame.
    @Test func clientThatNegotiatesHTTP2MustUseIt() async throws {
        let server = try server(.tls)
        let outcome = try await ProbeProcess.run(
            URL(filePath: "/bin/sh"),
            arguments: [
                "-c",
                "printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | "
                    + "openssl s_client -connect 127.0.0.1:\(server.port) -alpn h2 -quiet",
            ])
        #expect(outcome.output.hasSuffix("no preface"), "\(outcome)")
        #expect(server.requests.isEmpty)
    }
}
