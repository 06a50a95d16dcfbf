import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Timeouts", .timeLimit(.minutes(4)), .serialized)
struct TimeoutTimingTests {
    private static let short = Duration.milliseconds(80).asTestBound

    private func timeouts(_ change: (inout Timeouts) -> Void) -> Timeouts {
        var timeouts = Timeouts(connect: nil, firstByte: nil, idle: nil, total: nil, queue: nil)
        change(&timeouts)
        return timeouts
    }

    @Test func firstByteTimeoutEndsUnansweredRequest() async throws {
        try await withTransport { transport, server in
            server.script("/x", .hanging)
            let error = await transport.failure(
                request(server.url("/x")) { $0.options.timeouts = timeouts { $0.firstByte = Self.short } })
            #expect(error.code == .firstByteTimedOut)
            #expect(error.phase == .waiting)
            #expect(error.isTimeout && error.isSafeToRetry)
            #expect(error.metrics?.requestSent != nil)
        }
    }

    @Test func idleTimeoutEndsStalledBody() async throws {
        try await withTransport { transport, server in
            server.script("/x", .bytes(1000).faulting(.stall(), at: .inBody(after: 10)))
            let error = await transport.failure(
                request(server.url("/x")) { $0.options.timeouts = timeouts { $0.idle = Self.short } })
            #expect(error.code == .idleTimedOut)
            #expect(error.phase == .receive)
            #expect(error.responseCode == 200)
        }
    }

    @Test func emptyBodyFramesDoNotRestartIdleTimeout() async throws {
        let server = try FrameServer { _, stream in
            [Frame.head(stream), Frame.data(stream, [1])]
                + Array(repeating: [Frame.gate, Frame.data(stream, [])], count: 10_000).flatMap(\.self)
        }
        defer { server.stop() }
        let ticking = Task {
            while !Task.isCancelled {
                server.gate.signal()
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        defer { ticking.cancel() }
        try await withTransport({ $0.httpVersion = .http2PriorKnowledge }) { transport, _ in
            let error = await transport.failure(
                request(server.url) {
                    $0.options.timeouts = timeouts {
                        $0.idle = .milliseconds(300).asTestBound
                        $0.total = .seconds(10).asTestBound
                    }
                })
            #expect(error.code == .idleTimedOut, "\(error)")
        }
    }

    @Test func idleTimeoutRestartsWithEveryByte() async throws {
        try await withTransport { transport, server in
            let step = Duration.milliseconds(500).asTestBound
            server.script("/x", .bytes(8).faulting(.dribble(bytes: 1, every: step), at: .inBody(after: 0)))
            let answer = try await transport.fetch(
                request(server.url("/x")) {
                    // The body takes seven steps, so a timeout that did not restart would expire. A busy machine may
                    // delay a byte by five steps.
                    $0.options.timeouts = timeouts { $0.idle = step * 6 }
                })
            #expect(answer.sink.body.count == 8)
        }
    }

    @Test func totalTimeoutEndsSlowResponse() async throws {
        try await withTransport { transport, server in
            server.script(
                "/x", .bytes(100).faulting(.dribble(bytes: 1, every: .milliseconds(20)), at: .inBody(after: 0)))
            let error = await transport.failure(
                request(server.url("/x")) {
                    $0.options.timeouts = timeouts {
                        $0.total = Self.short
                        $0.idle = Duration.seconds(5).asTestBound
                    }
                })
            #expect(error.code == .totalTimedOut)
        }
    }

    @Test func queueTimeoutEndsQueuedRequest() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            let url = server.url("/first")
            let first = Task { try await transport.fetch(request(url)).text }
            try await server.waitForRequests(count: 1)
            let error = await transport.failure(
                request(server.url("/get")) {
                    $0.options.timeouts = timeouts {
                        $0.queue = Self.short
                        $0.connect = Duration.seconds(5).asTestBound
                    }
                })
            #expect(error.code == .queueTimedOut)
            #expect(error.phase == .queue)
            #expect(error.isSafeToRetry)
            gate.open()
            #expect(try await first.value == "first")
            #expect(server.requestCount == 1)
        }
    }

    @Test func connectTimeoutEndsUnansweredConnect() async throws {
        try await withTransport { transport, _ in
            // A listener whose backlog is full drops SYNs.
            let deaf = try DeafListener()
            defer { deaf.close() }
            let error = await transport.failure(
                request(URL(string: "http://127.0.0.1:\(deaf.port)/")!, method: .post) {
                    $0.options.timeouts = timeouts { $0.connect = Duration.milliseconds(150).asTestBound }
                })
            #expect(error.code == .connectTimedOut)
            #expect(error.phase == .connect)
            #expect(error.isSafeToRetry)
        }
    }

    @Test func timeoutsPauseWhileSinkIsPaused() async throws {
        try await withTransport { transport, server in
            // The response arrives in one piece, because the idle timeout would run between the head and the body.
            let body = String(repeating: "x", count: 20_000)
            server.script("/x", .raw(["HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + body]))
            let sink = CollectingSink()
            sink.state.withLock { $0.bodyAnswers = [.pause] }
            sink.observe { event in
                guard event == .body, sink.state.withLock({ $0.chunks }) == 0 else { return }
                let control = sink.control
                Task {
                    try await Task.sleep(for: Duration.milliseconds(250).asTestBound)
                    control?.resumeReceiving()
                }
            }
            let answer = try await transport.fetch(
                request(server.url("/x")) {
                    $0.options.timeouts = timeouts { $0.idle = Duration.milliseconds(100).asTestBound }
                }, sink)
            #expect(answer.text == body)
        }
    }

    @Test func slowBodySourceDoesNotCauseIdleTimeout() async throws {
        try await withTransport { transport, server in
            // The response has no body, because the idle timeout would run between the head and the body.
            server.script("/post", .status(204))
            let body = ScriptedBody([.bytes("ab"), .pending, .bytes("cd"), .end])
            body.onPending { waker in
                Task {
                    try await Task.sleep(for: Duration.milliseconds(250).asTestBound)
                    waker.wake()
                }
            }
            let answer = try await transport.fetch(
                request(server.url("/post"), method: .post, body: .stream(body)) {
                    $0.options.timeouts = timeouts { $0.idle = Duration.milliseconds(100).asTestBound }
                    $0.options.expectContinue = .never
                })
            #expect(answer.status == 204)
            #expect(server.requests.last?.body == Data("abcd".utf8))
        }
    }
}
