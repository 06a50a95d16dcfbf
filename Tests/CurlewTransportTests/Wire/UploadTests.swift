import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Uploads", .timeLimit(.minutes(4)))
struct UploadTests {
    @Test(arguments: [0, 1, 1000, 65_536, 65_537, 3_000_000])
    func dataOfAnySizeArrives(_ count: Int) async throws {
        try await withTransport { transport, server in
            let data = TestServer.patternBytes(count: count)
            for method in [HTTPMethod.post, .put, .patch, .delete, HTTPMethod(rawValue: "REPORT")] {
                let sink = CollectingSink()
                _ = try await transport.fetch(
                    request(
                        server.url("/anything"), method: method, headers: ["Content-Type": "x/y"], body: .data(data)),
                    sink)
                let seen = try #require(server.requests.last)
                #expect(seen.method == method.rawValue)
                #expect(seen.body == data)
                #expect(seen.headers["Content-Length"] == "\(count)")
                #expect(seen.headers["Content-Type"] == "x/y")
                #expect(seen.headers["Transfer-Encoding"] == nil)
                if count > 0 { #expect(sink.state.withLock { $0.sent.last } == Int64(count)) }
            }
        }
    }

    @Test func emptyPOSTAndPUTSendContentLengthZero() async throws {
        try await withTransport { transport, server in
            for (method, length) in [(HTTPMethod.post, "0"), (.put, "0"), (.patch, "0"), (.delete, nil), (.get, nil)] {
                _ = try await transport.fetch(request(server.url("/anything"), method: method))
                let seen = try #require(server.requests.last)
                #expect(seen.method == method.rawValue)
                #expect(seen.headers["Content-Length"] == length)
                #expect(seen.headers["Content-Type"] == nil)
                #expect(seen.headers["Expect"] == nil)
            }
        }
    }

    @Test func framingFieldsOfCallerAreNotSent() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(
                request(
                    server.url("/anything"),
                    method: .post,
                    headers: ["Content-Length": "3", "Transfer-Encoding": "chunked", "X-Empty": ""],
                    body: .data(Data("hello".utf8))
                ))
            let seen = try #require(server.requests.last)
            #expect(seen.headers.values(for: "Content-Length") == ["5"])
            #expect(seen.headers["Transfer-Encoding"] == nil)
            #expect(seen.headers["X-Empty"] == "")
            #expect(seen.body == Data("hello".utf8))
        }
    }

    @Test func filesAndRangesOfFilesAreUploaded() async throws {
        try await withTransport { transport, server in
            let data = TestServer.patternBytes(count: 500_000)
            let file = URL(filePath: NSTemporaryDirectory()).appending(path: "curlew-\(UUID())")
            try data.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            _ = try await transport.fetch(request(server.url("/anything"), method: .put, body: .file(file)))
            #expect(server.requests.last?.body == data)
            _ = try await transport.fetch(
                request(server.url("/anything"), method: .put, body: .file(file, range: 1000..<100_000)))
            #expect(server.requests.last?.body == data[1000..<100_000])
        }
    }

    @Test(arguments: [nil, -1]) func aStreamOfUnknownLengthIsChunked(length: Int64?) async throws {
        try await withTransport { transport, server in
            let body = ScriptedBody([.bytes("hello "), .bytes("world"), .end])
            _ = try await transport.fetch(
                request(server.url("/anything"), method: .post, body: .stream(body, length: length)) {
                    $0.options.expectContinue = .never
                })
            let seen = try #require(server.requests.last)
            #expect(seen.body == Data("hello world".utf8))
            #expect(seen.headers["Transfer-Encoding"] == "chunked")
            #expect(body.opens == 1 && body.closes == 1)
        }
    }

    @Test func streamThatEndsEarlyOrFailsIsAnError() async throws {
        try await withTransport { transport, server in
            let short = ScriptedBody([.bytes("hello"), .end])
            let early = await transport.failure(
                request(server.url("/anything"), method: .post, body: .stream(short, length: 100)))
            #expect(early.code == .bodyUnavailable)
            #expect(early.phase == .send)
            let broken = ScriptedBody([
                .bytes("a"), .failed(CurlewError(.bodyUnavailable, phase: .send, reason: "mine")),
            ])
            let failed = await transport.failure(
                request(server.url("/anything"), method: .post, body: .stream(broken, length: 100)))
            #expect(failed.reason == "mine")
            #expect(broken.closes == 1)
        }
    }

    @Test func expectContinueIsSentForLargeBodies() async throws {
        try await withTransport { transport, server in
            let small = Data(count: 1000)
            let large = Data(count: 2 << 20)
            let cases: [(Data, ExpectContinue, Bool)] = [
                (small, .automatic, false), (large, .automatic, true), (small, .always, true), (large, .never, false),
            ]
            for (data, expect, isSent) in cases {
                let sink = CollectingSink()
                _ = try await transport.fetch(
                    request(server.url("/anything"), method: .post, body: .data(data)) {
                        $0.options.expectContinue = expect
                    },
                    sink)
                #expect((server.requests.last?.headers["Expect"] == "100-continue") == isSent)
                let statuses = sink.state.withLock { $0.informational.map(\.status) }
                #expect(statuses == (isSent ? [100] : []))
            }
        }
    }

    @Test("a body of unknown length waits for 100 Continue only if a challenge may follow")
    func expectContinueOfStreams() async throws {
        try await withTransport { transport, server in
            let schemes: [TransferAuthentication.Scheme?] = [nil, .basic, .any]
            for scheme in schemes {
                let body = ScriptedBody([.bytes("hello"), .end])
                _ = try await transport.fetch(
                    request(server.url("/anything"), method: .post, body: .stream(body)) {
                        $0.options.authentication = scheme.map {
                            TransferAuthentication(scheme: $0, username: "a", password: "b")
                        }
                    })
                #expect((server.requests.first?.headers["Expect"] != nil) == (scheme == .any), "\(scheme as Any)")
                server.clearRequests()
            }
        }
    }

    @Test func anEarlyFinalResponseIsDelivered() async throws {
        try await withTransport { transport, server in
            server.script("/x", .text("too large", status: 413).changed { $0.readsBody = false })
            let body = ScriptedBody(
                Array(repeating: .bytes(String(repeating: "x", count: 10_000)), count: 3) + [.pending])
            let answer = try await transport.fetch(
                request(server.url("/x"), method: .post, body: .stream(body, length: 100_000_000)) {
                    $0.options.expectContinue = .never
                })
            #expect(answer.status == 413)
            #expect(answer.text == "too large")
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(server.connectionCount == 2)
        }
    }

    /// After a 417 a client repeats the request without the expectation (RFC 9110, 10.1.1). The 417 never reaches the
    /// sink.
    @Test(arguments: [1000, 200_000, 2 << 20])
    func aRefusedExpectationIsRepeatedWithoutIt(_ count: Int) async throws {
        try await withTransport { transport, server in
            let data = TestServer.patternBytes(count: count)
            let sink = CollectingSink()
            server.script("/x", .text("").changed { $0.expectation = .refuse }, .text("taken"), .text("taken"))
            let upload = request(
                server.url("/x"), method: .post, headers: ["Content-Type": "a/b", "X-Own": "1"], body: .data(data)
            ) {
                $0.options.expectContinue = .always
                $0.defaultHeaders = DefaultHeaders(["X-Default": "2"])
            }
            let answer = try await transport.fetch(upload, sink)
            #expect(answer.status == 200)
            #expect(answer.text == "taken")
            let seen = server.requests
            #expect(seen.map { $0.headers["Expect"] } == ["100-continue", nil])
            #expect(seen.last?.body == data)
            for name in ["Content-Type", "X-Own", "X-Default"] {
                #expect(seen.first?.headers.values(for: name) == seen.last?.headers.values(for: name))
            }
            #expect(seen.last?.headers["X-Default"] == "2")
            #expect(sink.state.withLock { $0.sent.last } == Int64(count))
            #expect(sink.state.withLock { $0.informational.isEmpty })
            // The next request has the expectation again.
            _ = try await transport.fetch(upload)
            #expect(server.requests.last?.headers["Expect"] == "100-continue")
        }
    }

    /// The request's body has been sent by then, so libcurl does not repeat the request by itself, and passes the body
    /// of the refusal on.
    @Test func endlessBodyOfRefusedExpectationDoesNotPreventResend() async throws {
        let data = TestServer.patternBytes(count: 1000)
        let server = try ByteServer { peer in
            let isExpecting = peer.readHead().contains("Expect: 100-continue")
            if isExpecting { peer.write("HTTP/1.1 100 Continue\r\n\r\n") }
            guard peer.read(exactly: 1000).count == 1000 else { return }
            guard isExpecting else { return peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken") }
            peer.write("HTTP/1.1 417 no\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x78, count: 0x10000) + Array("\r\n".utf8)
            while peer.write(chunk) {}
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            let sink = CollectingSink()
            let answer = try await transport.fetch(
                request(server.url, method: .post, body: .data(data)) {
                    $0.options.expectContinue = .always
                    $0.options.timeouts.total = .seconds(60)
                }, sink)
            #expect(answer.status == 200)
            #expect(answer.text == "taken")
        }
    }

    @Test("a refusal of an expectation whose body drips is bounded by the idle timeout, and the request is repeated")
    func unfinishedRefusal() async throws {
        let server = try ByteServer { peer in
            let isExpecting = peer.readHead().contains("Expect: 100-continue")
            if isExpecting { peer.write("HTTP/1.1 100 Continue\r\n\r\n") }
            guard peer.read(exactly: 1000).count == 1000 else { return }
            guard isExpecting else { return peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken") }
            peer.write("HTTP/1.1 417 no\r\nContent-Length: 1000000\r\n\r\n")
            // Until the client closes the connection.
            while peer.write([0x78]) { usleep(50_000) }
        }
        defer { server.stop() }
        try await withTransport { transport, _ in
            let answer = try await transport.fetch(
                request(server.url, method: .post, body: .data(TestServer.patternBytes(count: 1000))) {
                    $0.options.expectContinue = .always
                    $0.options.timeouts.idle = Duration.seconds(1).asTestBound
                    $0.options.timeouts.total = .seconds(60)
                }, CollectingSink())
            #expect(answer.status == 200 && answer.text == "taken")
        }
    }

    @Test func aRefusalOfACallersOwnExpectationIsAResponse() async throws {
        try await withTransport { transport, server in
            server.route("/x", expectation: .refuse) { _ in .text("") }
            let answer = try await transport.fetch(
                request(
                    server.url("/x"), method: .post, headers: ["Expect": "100-continue"],
                    body: .data(Data(count: 1000))))
            #expect(answer.status == 417)
            let after = try await transport.fetch(request(server.url("/get")))
            #expect(after.status == 200)
        }
    }

    @Test func unreadStreamIsSentWithoutRefusedExpect() async throws {
        try await withTransport { transport, server in
            server.script("/x", .text("").changed { $0.expectation = .refuse }, .text("taken"))
            // libcurl starts to send the body if its expectation gets no response within a second. Therefore the source
            // has no bytes until the server has ended the first connection.
            let body = ScriptedBody([.pending, .bytes("hello "), .bytes("world"), .end])
            body.onPending { waker in
                Task {
                    try await server.waitForConnections(count: 2)
                    waker.wake()
                }
            }
            let answer = try await transport.fetch(
                request(server.url("/x"), method: .post, body: .stream(body)) { $0.options.expectContinue = .always })
            #expect(answer.text == "taken")
            #expect(server.requests.last?.body == Data("hello world".utf8))
        }
    }
}
