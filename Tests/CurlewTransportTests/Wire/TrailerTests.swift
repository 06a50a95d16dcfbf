import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Trailers", .timeLimit(.minutes(4)))
struct TrailerTests {
    // MARK: Received

    private func chunked(_ trailers: [String]) -> TestServer.Response {
        .raw([
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
                + trailers.map { $0 + "\r\n" }.joined() + "\r\n"
        ])
    }

    @Test("many trailers, some with the same name, arrive in order")
    func many() async throws {
        try await withTransport { transport, server in
            let lines = (0..<100).map { "X-\($0 % 10): \($0)" }
            server.script("/x", chunked(lines))
            let trailers = try await transport.fetch(request(server.url("/x"))).outcome.trailers
            #expect(trailers.map { "\($0.name): \($0.value)" } == lines)
        }
    }

    @Test("the size of the head and the trailers together is limited")
    func tooMany() async throws {
        try await withTransport {
            $0.maximumHeaderSize = 16 * 1024
        } _: { transport, server in
            server.script("/x", chunked((0..<40).map { "X-\($0): " + String(repeating: "v", count: 1000) }))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .limitExceeded && error.responseCode == 200)
            server.script("/x", chunked((0..<8).map { "X-\($0): " + String(repeating: "v", count: 1000) }))
            let answer = try await transport.fetch(request(server.url("/x")))
            #expect(answer.outcome.trailers.count == 8)
        }
    }

    /// The first response makes the handle know its head, so that the lines of the second one are compared with it.
    @Test(
        "a trailer that looks like a status line is refused",
        arguments: [
            ["HTTP/1.1 200 OK"], ["X-Sum: 1", "HTTP/1.1 200 OK", "X-Other: 2"],
            ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"], ["HTTP/1.1 204 No Content", "X-Sum: 1"],
            ["HTTP/1.1: 1"],
        ])
    func statusLine(_ lines: [String]) async throws {
        try await withTransport { transport, server in
            server.script("/x", chunked(["X-Sum: 1"]), chunked(lines), chunked(["X-Sum: 2"]))
            let first = try await transport.fetch(request(server.url("/x")))
            #expect(first.outcome.trailers == ["X-Sum": "1"])
            let sink = CollectingSink()
            let error = await transport.failure(request(server.url("/x")), sink)
            #expect(error.code == .protocolViolation && error.responseCode == 200, "\(error)")
            let last = try await transport.fetch(request(server.url("/x")))
            #expect(last.outcome.trailers == ["X-Sum": "2"])
            #expect(!last.outcome.metrics.isConnectionReused)
        }
    }

    /// libcurl itself limits the size of a trailer, and reports a longer one as a lack of memory.
    @Test("a trailer above 4 KiB fails with limitExceeded")
    func tooLong() async throws {
        try await withTransport { transport, server in
            server.script("/x", chunked(["X: " + String(repeating: "v", count: 5000)]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .limitExceeded && error.responseCode == 200, "\(error)")
            #expect(error.reason.contains("trailer"))
            server.script("/x", chunked(["X: " + String(repeating: "v", count: 4000)]))
            let answer = try await transport.fetch(request(server.url("/x")))
            #expect(answer.outcome.trailers["X"]?.count == 4000)
        }
    }

    private static let announcement =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Other\r\n\r\n5\r\nhello\r\n0\r\n"

    @Test("announced trailers that do not arrive are absent, and the connection is reused")
    func announced() async throws {
        let server = try ByteServer { peer in
            while peer.readHead().hasSuffix("\r\n\r\n") {
                peer.write(Self.announcement + "X-Other: 1\r\n\r\n")
            }
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            for _ in 0..<2 {
                let answer = try await transport.fetch(request(server.url))
                #expect(answer.text == "hello" && answer.outcome.trailers == ["X-Other": "1"])
            }
            #expect(transport.statistics.connectionsMade == 1)
        }
    }

    @Test(
        "a response that ends before the end of its trailers is truncated",
        arguments: ["", "X-Sum: 4", "X-Sum: 42\r\n"])
    func cutOff(_ beginning: String) async throws {
        try await withTransport { transport, server in
            server.script("/x", .raw([Self.announcement + beginning]))
            let sink = CollectingSink()
            let error = await transport.failure(request(server.url("/x")), sink)
            #expect(error.code == .truncated && error.responseCode == 200, "\(error)")
            #expect(sink.text == "hello")
        }
    }

    @Test(
        "a response whose trailers do not arrive fails with the idle timeout",
        arguments: ["", "X-Sum: 4", "X-Sum: 42\r\n"])
    func heldBack(_ beginning: String) async throws {
        let server = try ByteServer { peer in
            _ = peer.readHead()
            peer.write(Self.announcement + beginning)
            // Waits until the client closes the connection.
            _ = peer.read()
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            let sink = CollectingSink()
            let url = server.url
            let error = await transport.failure(
                request(url) { $0.options.timeouts.idle = .milliseconds(100) }, sink)
            #expect(error.code == .idleTimedOut && error.responseCode == 200, "\(error)")
            #expect(sink.text == "hello")
            try await eventually { server.openConnections == 0 }
        }
    }

    // MARK: Received over HTTP/2

    /// Frames of a response that announces trailers.
    private static func announcing(_ stream: UInt32, isComplete: Bool) -> [[UInt8]] {
        // A literal field without indexing, with a new name (RFC 7541, 6.2.2).
        let trailer = [0x00, 7] + Array("trailer".utf8) + [5] + Array("x-sum".utf8)
        return [
            Frame.bytes(1, flags: 4, stream: stream, [0x88] + trailer),
            Frame.data(stream, Array("hello".utf8), ends: isComplete),
        ]
    }

    @Test("announced trailers that do not arrive over HTTP/2 are absent")
    func announcedOverHTTP2() async throws {
        try await withFrames({ _, stream in Self.announcing(stream, isComplete: true) }) { transport, server in
            for _ in 0..<2 {
                let answer = try await transport.fetch(request(server.url))
                #expect(answer.outcome.head.headers["trailer"] == "x-sum")
                #expect(answer.text == "hello" && answer.outcome.trailers == [:])
            }
        }
    }

    @Test("a response over HTTP/2 whose trailers do not arrive fails with the idle timeout")
    func heldBackOverHTTP2() async throws {
        try await withFrames({ _, stream in Self.announcing(stream, isComplete: false) }) { transport, server in
            let sink = CollectingSink()
            let error = await transport.failure(
                request(server.url) { $0.options.timeouts.idle = Duration.milliseconds(500).asTestBound }, sink)
            #expect(error.code == .idleTimedOut && error.responseCode == 200, "\(error)")
            #expect(sink.text == "hello")
        }
    }

    // MARK: Sent

    private func upload(
        _ url: URL,
        _ body: ScriptedBody = ScriptedBody([.bytes("hello"), .end]),
        length: Int64? = nil,
        trailers: HTTPHeaders?
    ) -> TransferRequest {
        request(url, method: .post, body: .stream(body, length: length)) {
            $0.options.expectContinue = .never
            $0.trailers = trailers.map { fields in RequestTrailers { fields } }
        }
    }

    /// A handle that has sent trailers must not serve another body: see `LibcurlQuirks.sendsTrailersOnce`.
    @Test("trailers are sent after the body, and later requests without trailers arrive unchanged")
    func sent() async throws {
        try await withTransport { transport, server in
            let url = server.url("/anything")
            for round in 0..<12 {
                let trailers: HTTPHeaders? = round % 3 == 2 ? nil : ["X-Sum": "\(round)", "X-Empty": ""]
                let text = String(repeating: "\(round),", count: (round + 1) * 3000)
                let body = ScriptedBody([.bytes(text), .bytes("end"), .end])
                _ = try await transport.fetch(upload(url, body, trailers: trailers))
                let seen = try #require(server.requests.last)
                #expect(seen.bodyText == text + "end" && seen.isBodyComplete)
                #expect(seen.trailers == trailers ?? [:])
                #expect(seen.headers["Transfer-Encoding"] == "chunked")
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test("trailers are sent after an empty body, and their list may be empty")
    func empty() async throws {
        try await withTransport { transport, server in
            for fields in [["X-Sum": "0"], [:]] as [HTTPHeaders] {
                _ = try await transport.fetch(upload(server.url("/anything"), ScriptedBody([.end]), trailers: fields))
                #expect(server.requests.last?.trailers == fields)
                #expect(server.requests.last?.isBodyComplete == true)
            }
        }
    }

    @Test(
        "a field that is not allowed as a trailer fails the request, and the server gets no complete body",
        arguments: [
            HTTPHeader(name: "Content-Length", value: "5"), HTTPHeader(name: "X", value: "a\r\nY: b"),
        ])
    func refused(_ field: HTTPHeader) async throws {
        try await withTransport { transport, server in
            let error = await transport.failure(upload(server.url("/anything"), trailers: [field]))
            #expect(error.code == .invalidHeader && !error.isSafeToRetry)
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.requestCount == 0)
            // The failure does not affect the next request.
            _ = try await transport.fetch(upload(server.url("/anything"), trailers: ["X": "1"]))
            #expect(server.requests.last?.trailers == ["X": "1"])
        }
    }

    @Test("trailers of a body with a length, or over HTTP/2, are refused before a connection is made")
    func impossible() async throws {
        for version in [HTTPVersionPolicy.automatic, .http2PriorKnowledge] {
            try await withTransport {
                $0.httpVersion = version
            } _: { transport, server in
                let length: Int64? = version == .automatic ? 5 : nil
                let error = await transport.failure(
                    upload(server.url("/anything"), length: length, trailers: ["X": "1"]))
                #expect(error.code == (version == .automatic ? .invalidBody : .unsupported))
                #expect(server.connectionCount == 0)
            }
        }
    }

    @Test("trailers without a body are refused")
    func bodiless() async throws {
        try await withTransport { transport, server in
            let error = await transport.failure(
                request(server.url("/get")) { $0.trailers = RequestTrailers { ["X": "1"] } })
            #expect(error.code == .invalidBody && server.connectionCount == 0)
        }
    }

    @Test("the trailers are not asked for if a response refuses the body")
    func moot() async throws {
        try await withTransport { transport, server in
            server.script("/x", .text("too large", status: 413).changed { $0.readsBody = false })
            let calls = Lock(0)
            let body = ScriptedBody([.bytes("hello"), .pending])
            let answer = try await transport.fetch(
                request(server.url("/x"), method: .post, body: .stream(body)) {
                    $0.options.expectContinue = .never
                    $0.trailers = RequestTrailers {
                        calls.withLock { $0 += 1 }
                        return ["X": "1"]
                    }
                })
            #expect(answer.status == 413)
            #expect(calls.withLock { $0 } == 0)
        }
    }

    /// libcurl before 8.7 cannot send a chunked body after one with trailers, so the challenge is the response.
    @Test("a challenge is answered if libcurl can send the trailers twice")
    func challenged() async throws {
        try await withTransport { transport, server in
            let body = ScriptedBody([.bytes("hello"), .end], isReplayable: true)
            var challenged = upload(server.url("/digest-auth/auth/user/password"), body, trailers: ["X": "1"])
            challenged.options.authentication = TransferAuthentication(
                scheme: .any, username: "user", password: "password")
            let answer = try await transport.fetch(challenged)
            let sendsOnce = Capabilities.ofLibcurl.quirks.sendsTrailersOnce
            #expect(answer.status == (sendsOnce ? 401 : 200))
            #expect(server.requests.map(\.trailers) == Array(repeating: ["X": "1"], count: sendsOnce ? 1 : 2))
            // Another body over the same connection shows that the memory is intact.
            _ = try await transport.fetch(upload(server.url("/anything"), trailers: nil))
            #expect(server.requests.last?.bodyText == "hello")
        }
    }
}
