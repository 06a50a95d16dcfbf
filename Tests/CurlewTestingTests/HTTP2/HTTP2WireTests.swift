import CurlewCore
import Foundation
import Testing

@testable import CurlewTesting

@Suite("TestServer: HTTP/2, byte for byte", .timeLimit(.minutes(4))) struct HTTP2WireTests {
    typealias Response = TestServer.Response

    private func server() throws -> TestServer {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http1, .http2]
        return try TestServer(configuration)
    }

    @Test func prefaceMayArriveInPieces() async throws {
        let server = try server()
        let client = try WireClient(port: server.port)
        var speaker = HTTP2Speaker()
        speaker.headers(1)
        for byte in speaker.take() { client.send(Data([byte])) }
        try await server.waitForRequests(count: 1)
        #expect(server.requests.map(\.version) == [.http2])
    }

    @Test func requestThatBeginsLikePrefaceIsHTTP1() throws {
        let server = try server()
        let client = try WireClient(port: server.port)
        for part in ["P", "R", "OPFIND /anything HTTP/1.1\r\nHost: x\r\n\r\n"] { client.send(part) }
        #expect(try client.response().status == 200)
        #expect(server.requests.map(\.method) == ["PROPFIND"])
        let other = try WireClient(port: server.port)
        #expect(try other.request("POST", "/post", body: "abc").status == 200)
        #expect(try other.request("GET", "/get").status == 200)
    }

    @Test func responsesAreSentInTheirFrames() throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        server.script(
            "/all",
            Response(
                headers: ["X-Name": "Value", "Connection": "close"],
                body: .chunks([Data("one".utf8), Data("two".utf8)])
            )
            .changed {
                $0.interim = [TestServer.Response.Interim(status: 103, headers: ["Link": "</a>"])]
                $0.trailers = ["X-Sum": "6"]
            })
        client.request(1, "GET", "/all")
        let response = try client.response(1)
        #expect(
            response.heads == [
                [HPACKField(":status", "103"), HPACKField("link", "</a>")],
                [HPACKField(":status", "200"), HPACKField("x-name", "Value")],
                [HPACKField("x-sum", "6")],
            ])
        #expect(response.body == Array("onetwo".utf8))
        #expect(response.pieces == [3, 3])
    }

    @Test(arguments: ["HEAD", "GET"]) func responsesWithoutBodyEndWithTheirHead(method: String) throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, method, method == "HEAD" ? "/bytes/100" : "/status/204")
        let response = try client.response(1)
        #expect(response.pieces.isEmpty)
        #expect(response.value("content-length") == (method == "HEAD" ? "100" : nil))
    }

    @Test func requestsAreRecordedCompletely() throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        client.send {
            $0.headers(
                1, HTTP2Speaker.fields("POST", "/post?x=y", [("cookie", "a=b"), ("cookie", "c=d")]), isLast: false)
            $0.frame(.data, .padded, stream: 1, [4] + Array("abc".utf8) + [0, 0, 0, 0])
            $0.headers(1, [HPACKField("x-sum", "3")])
        }
        #expect(try client.response(1).value(":status") == "200")
        let request = try #require(server.requests.first)
        #expect(request.bodyText == "abc" && request.bodyByteCount == 3)
        #expect(request.trailers == ["x-sum": "3"])
        #expect(request.headers["Cookie"] == "a=b; c=d")
        #expect(request.queryValue("x") == "y")
        #expect(request.isBodyComplete && request.rawBytes.isEmpty)
    }

    @Test(arguments: [
        (TestServer.Expectation.answer, "100"), (.ignore, "200"), (.refuse, "417"),
    ]) func expect100ContinueIsHandledAsConfigured(expectation: TestServer.Expectation, first: String) throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        server.script("/up", .text("done").changed { $0.expectation = expectation })
        client.request(1, "POST", "/up", [("expect", "100-continue")], isLast: false)
        if expectation == .answer { try client.wait { $0.kind == .headers } }
        if expectation != .refuse { client.send { $0.data(1, 4, isLast: true) } }
        let response = try client.response(1)
        #expect(response.value(":status") == first)
        #expect(response.heads.count == (expectation == .answer ? 2 : 1))
        client.request(3, "GET", "/bytes/3")
        #expect(try client.response(3).body.count == 3)
    }

    @Test func earlyResponseKeepsTheConnectionOpen() throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        server.script("/up", .status(413).changed { $0.readsBody = false })
        client.request(1, "POST", "/up", isLast: false)
        #expect(try client.response(1).value(":status") == "413")
        #expect(try client.wait { $0.kind == .resetStream }.code == .noError)
        client.send { $0.data(1, 1_000) }
        client.request(3, "GET", "/bytes/3")
        #expect(try client.response(3).body.count == 3)
        #expect(server.requests.map(\.isBodyComplete) == [false, true])
    }

    /// The server accepts one window of a body that it does not read, and other streams continue.
    @Test func unreadBodyBlocksOnlyItsOwnStream() async throws {
        let server = try server()
        let gate = Gate()
        server.script("/up", .text("done").stalling(until: gate, at: .readingBody(after: 1_000)))
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, "POST", "/up", isLast: false)
        client.send { for _ in 0..<5 { $0.data(1, 13_000) } }
        try await gate.waitForArrivals(count: 1)
        client.request(3, "GET", "/bytes/3")
        #expect(try client.response(3).body.count == 3)
        #expect(client.frames.allSatisfy { $0.stream != 1 })
        gate.open()
        // Reading enlarges the window again, so the client can send more than the initial window.
        try client.wait { $0.kind == .windowUpdate && $0.stream == 1 }
        client.send { $0.data(1, 13_000, isLast: true) }
        let response = try client.response(1)
        #expect(response.body == Array("done".utf8), "\(response)")
        #expect(server.requests.last?.bodyByteCount == 78_000)
    }

    /// The server sends a client one window of a body until the client enlarges it.
    @Test func serverSendsOnlyWhatTheWindowAllows() throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port, window: 1_000)
        client.request(1, "GET", "/bytes/5000")
        try client.wait { $0.kind == .data }
        client.send { $0.ping() }
        try client.wait { $0.kind == .ping }
        #expect(client.frames.filter { $0.kind == .data }.map(\.payload.count) == [1_000])
        client.send { $0.window(1, 500) }
        try client.wait { $0.kind == .data && $0.payload.count == 500 }
        client.send { $0.window(1, 1 << 20) }
        #expect(try client.response(1).body == Array(TestServer.patternBytes(count: 5_000)))
    }

    /// For a peer that reads nothing, the server produces no more than the socket accepts. Other connections continue.
    @Test func peerThatReadsNothingUsesBoundedMemory() async throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        client.send {
            for stream in 0..<50 as Range<UInt32> {
                $0.headers(stream * 2 + 1, HTTP2Speaker.fields("GET", "/bytes/90000000"))
            }
        }
        try await server.waitForRequests(count: 50)
        let other = try HTTP2WireClient(port: server.port)
        other.request(1, "GET", "/bytes/3")
        #expect(try other.response(1).body.count == 3)
        #expect(server.bytesSent < 64 << 20, "what no socket takes is not made")
        client.wire.close()
        try await server.waitForOpenConnections(atMost: 1)
    }

    @Test func streamsShareTheConnectionFairly() throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        client.send {
            $0.headers(1, HTTP2Speaker.fields("GET", "/bytes/20000000"))
            $0.headers(3, HTTP2Speaker.fields("GET", "/bytes/200000"))
        }
        #expect(try client.response(3).body.count == 200_000)
        #expect(
            !client.frames.contains { $0.stream == 1 && $0.flags.contains(.endStream) }, "the long one is still there")
        #expect(try client.response(1).body.count == 20_000_000)
    }

    @Test func unfinishedRequestsAreRecorded() async throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, "POST", "/post", isLast: false)
        client.request(3, "POST", "/post", isLast: false)
        client.send {
            $0.data(1, 5)
            $0.data(3, 6)
            $0.frame(.resetStream, stream: 1, HTTP2Frame.big(8))
            $0.ping()
        }
        try client.wait { $0.kind == .ping }
        #expect(server.abortedRequests.map(\.bodyByteCount) == [5])
        client.wire.close()
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.abortedRequests.map(\.bodyByteCount) == [5, 6])
        #expect(server.requests.isEmpty)
    }

    @Test func resetEndsOnlyItsStream() throws {
        let server = try server()
        let gate = Gate()
        server.script("/held", .text("held").stalling(until: gate, at: .inBody(after: 2)))
        server.script("/reset", .bytes(100_000).faulting(.reset, at: .inBody(after: 50_000)))
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, "GET", "/held")
        client.request(3, "GET", "/reset")
        let cut = try client.response(3)
        #expect(cut.reset == .internalError && cut.body.count == 50_000)
        gate.open()
        #expect(try client.response(1).body == Array("held".utf8))
    }

    @Test func webSocketOverHTTP2RequiresHTTP1() throws {
        let server = try server()
        server.script("/ws", .status(101))
        let client = try HTTP2WireClient(port: server.port)
        client.request(1, "GET", "/ws")
        #expect(try client.response(1).reset == .http1Required)
    }

    @Test(arguments: HTTP2ViolationTests.ofConnections.filter { $0.begins && $0.code != .enhanceYourCalm })
    func violationIsReportedInGoAway(example: HTTP2ViolationTests.Case) throws {
        let server = try server()
        let client = try HTTP2WireClient(port: server.port, window: HTTP2Settings.defaultWindow)
        client.send { example.says(&$0) }
        #expect(try client.wait { $0.kind == .goAway }.code == example.code)
        while client.wire.readMore() {}
        #expect(client.wire.ending == .fin)
        let other = try HTTP2WireClient(port: server.port)
        other.request(1, "GET", "/bytes/3")
        #expect(try other.response(1).body.count == 3)
    }

    @Test func http2ServerReportsRefusalInGoAway() throws {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2]
        let server = try TestServer(configuration)
        let client = try WireClient(port: server.port)
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        let frames = try HTTP2Speaker.frames(Array(client.readToEnd()))
        #expect(frames.map(\.kind) == [.settings, .goAway])
        #expect(client.ending == .fin)
    }

    @Test(
        arguments: [
            ("02 6832 08 68 74 74 70 2f 31 2e 31", ProtocolChoice.Preference.http2First, "h2"),
            ("02 6832 08 68 74 74 70 2f 31 2e 31", .http1First, "http/1.1"),
            ("08 68 74 74 70 2f 31 2e 31 02 6832", .http2Only, "h2"),
            ("08 68 74 74 70 2f 31 2e 31", .http2First, "http/1.1"),
            ("08 68 74 74 70 2f 31 2e 31", .http2Only, nil),
            ("02 6833", .http2First, nil),
            ("03 6832", .http2First, nil),
            ("", .http2First, nil),
        ] as [(String, ProtocolChoice.Preference, String?)])
    func theBestCommonProtocolIsChosen(list: String, preference: ProtocolChoice.Preference, name: String?) {
        let chosen = ProtocolChoice.choose(from: bytes(list), preference)
        #expect(chosen.map { String(decoding: bytes(list)[$0], as: UTF8.self) } == name)
    }
}

extension HTTP2Speaker {
    mutating func ping() { frame(.ping, [], [UInt8](repeating: 9, count: 8)) }
}
