import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Flow", .timeLimit(.minutes(4)))
struct FlowTests {
    @Test func pausedSinkStopsTheServer() async throws {
        try await withTransport(server: { $0.sendBufferSize = 16_384 }) { transport, server in
            let size: Int64 = 64 << 20
            let sink = CollectingSink()
            sink.state.withLock {
                $0.keepsBody = false
                $0.headAnswers = [.pause]
            }
            let url = server.url("/big")
            server.script("/big", .bytes(size))
            let task = Task { try await transport.fetch(request(url), sink) }
            // The pause begins with the head, so before it there is nothing to resume.
            while sink.head == nil { try await Task.sleep(for: .milliseconds(1)) }
            // Full buffers stop the server long before the end of the body.
            var last: Int64 = -1
            while server.bytesSent != last || last == 0 {
                last = server.bytesSent
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(last < size / 2)
            #expect(sink.state.withLock { $0.bodyCount } == 0)
            sink.control?.resumeReceiving()
            _ = try await task.value
            #expect(sink.state.withLock { $0.bodyCount } == size)
        }
    }

    /// Counts the turns that it is notified of.
    private final class TurnCounter: TurnObserver {
        private let count = Lock(0)

        var turns: Int { count.withLock { $0 } }
        func turnEnded() { count.withLock { $0 += 1 } }
    }

    @Test func sinkIsNotifiedOncePerTurn() async throws {
        try await withTransport { transport, server in
            let (sink, counter) = (CollectingSink(), TurnCounter())
            // The sink asks three times per piece, but is notified once per turn.
            sink.observe { event in
                guard event == .body, let control = sink.control as? any TurnControl else { return }
                for _ in 0..<3 { control.atEndOfTurn(tell: counter) }
            }
            _ = try await transport.fetch(request(server.url("/bytes/4000000")), sink)
            let pieces = sink.state.withLock { $0.chunks }
            #expect(counter.turns > 0)
            #expect(counter.turns <= pieces)
        }
    }

    /// On a new connection and on a reused one.
    @Test(arguments: [false, true])
    func brokenConnectionDuringPauseLosesNoReceivedData(_ isUsedAgain: Bool) async throws {
        try await withTransport { transport, server in
            if isUsedAgain { _ = try await transport.fetch(request(server.url("/bytes/10"))) }
            let length: Int64 = FaultMode.hasTinyBuffers ? 4_000 : 300_000
            server.script("/cut", .bytes(1 << 20).faulting(.reset, at: .inBody(after: length)))
            let sink = CollectingSink()
            sink.state.withLock { $0.headAnswers = [.pause] }
            let url = server.url("/cut")
            let task = Task { await transport.failure(request(url), sink) }
            // The pause begins with the head, so before it there is nothing to resume.
            while sink.head == nil { try await Task.sleep(for: .milliseconds(1)) }
            while server.bytesSent < length { try await Task.sleep(for: .milliseconds(2)) }
            // Gives the reset time to arrive.
            try await Task.sleep(for: .milliseconds(100))
            sink.control?.resumeReceiving()
            let error = await task.value
            #expect(error.code == .receiveFailed, "\(error)")
            // With tiny buffers the body is sent in many short writes, of which few may have arrived.
            #expect(sink.state.withLock { $0.bodyCount } > (FaultMode.hasTinyBuffers ? 0 : 10_000))
        }
    }

    @Test func everyChunkMayBePaused() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            sink.state.withLock { $0.bodyAnswers = Array(repeating: [.pause, .proceed], count: 20).flatMap(\.self) }
            sink.observe { if $0 == .body { sink.control?.resumeReceiving() } }
            _ = try await transport.fetch(request(server.url("/bytes/1000000")), sink)
            #expect(sink.body == TestServer.patternBytes(count: 1_000_000))
        }
    }

    @Test func suspendingBeforeStartPreventsTheStart() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            sink.observe { if $0 == .started { sink.control?.suspend() } }
            let url = server.url("/bytes/10")
            let task = Task { try await transport.fetch(request(url), sink).sink.body.count }
            try await eventually { sink.control != nil }
            // A request that had started would have reached the server by then.
            try await Task.sleep(for: .milliseconds(50))
            #expect(server.connectionCount == 0)
            sink.control?.resume()
            let count = try await task.value
            #expect(count == 10)
        }
    }

    /// A connection is idle, so the request would be sent over it in the same turn of the loop.
    @Test func cancellingBeforeStartSendsNothing() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            let sink = CollectingSink()
            sink.observe { event in
                if event == .started { sink.control?.cancel(with: CurlewError(.cancelled, phase: .lifecycle)) }
            }
            let error = await transport.failure(request(server.url("/anything"), method: .post), sink)
            #expect(error.code == .cancelled)
            _ = try await transport.fetch(request(server.url("/get")))
            #expect(server.requests.map(\.path) == ["/get", "/get"])
            #expect(server.connectionCount == 1)
        }
    }

    @Test(arguments: [false, true])
    func suspendingWhileConnectingPreventsSending(withBody: Bool) async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            let first = server.url("/first")
            let blocker = Task { try await transport.fetch(request(first)).text }
            try await server.waitForRequests(count: 1)

            let sink = CollectingSink()
            let held =
                withBody
                ? request(
                    server.url("/anything"), method: .post, body: .stream(ScriptedBody([.bytes("some")]), length: nil))
                : request(server.url("/anything"))
            let task = Task { try await transport.fetch(held, sink).status }
            try await eventually { transport.statistics.liveTransfers >= 2 }
            sink.control?.suspend()
            gate.open()
            #expect(try await blocker.value == "first")

            // A request that is not suspended overtakes the suspended one.
            let last = try await transport.fetch(request(server.url("/last")))
            #expect(last.status == 404)
            #expect(server.requests.map(\.path) == ["/first", "/last"])
            sink.control?.resume()
            #expect(try await task.value == 200)
            #expect(server.requests.map(\.path) == ["/first", "/last", "/anything"])
            #expect(server.requests.last?.body == (withBody ? Data("some".utf8) : Data()))
        }
    }

    /// The timeouts of a suspended transfer pause, and continue afterwards.
    @Test func timeoutsContinueAfterSuspensionWhileQueued() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            server.script("/silent", .hanging)
            let first = server.url("/first")
            let blocker = Task { try await transport.fetch(request(first)).text }
            try await server.waitForRequests(count: 1)

            let sink = CollectingSink()
            let held = request(server.url("/silent")) {
                $0.options.timeouts.firstByte = .milliseconds(100)
                $0.options.timeouts.total = Duration.seconds(20).asTestBound
            }
            let task = Task { await transport.failure(held, sink).code }
            try await eventually { transport.statistics.liveTransfers >= 2 }
            sink.control?.suspend()
            gate.open()
            #expect(try await blocker.value == "first")
            _ = try await transport.fetch(request(server.url("/last")))
            sink.control?.resume()
            #expect(await task.value == .firstByteTimedOut)
        }
    }

    @Test func transferSuspendedWhileQueuedCanBeCancelled() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            let first = server.url("/first")
            let blocker = Task { try await transport.fetch(request(first)).text }
            try await server.waitForRequests(count: 1)
            let sink = CollectingSink()
            let held = request(
                server.url("/anything"), method: .post, body: .stream(ScriptedBody([.pending]), length: nil))
            let task = Task { await transport.failure(held, sink) }
            try await eventually { transport.statistics.liveTransfers >= 2 }
            sink.control?.suspend()
            gate.open()
            #expect(try await blocker.value == "first")
            _ = try await transport.fetch(request(server.url("/last")))
            task.cancel()
            #expect(await task.value.code == .cancelled)
            #expect(server.requests.map(\.path) == ["/first", "/last"])
        }
    }

    /// libcurl keeps a head that it reads while the transfer is paused. After the pause it passes all lines but the
    /// first in one piece.
    @Test func headReceivedDuringSuspensionIsReadByLine() async throws {
        let (isAsked, mayAnswer, hasAnswered) = (Gate(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let late = try ByteServer { peer in
            _ = peer.readHead()
            isAsked.open()
            mayAnswer.wait()
            peer.write("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nContent-Length: 4\r\n\r\nlate")
            hasAnswered.signal()
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(late.port)/"))
        try await withTransport { transport, server in
            let sink = CollectingSink()
            let task = Task { try await transport.fetch(request(url), sink) }
            try await isAsked.wait()
            let other = CollectingSink()
            // The loop is blocked here until the response has arrived. It then processes the pause before the response.
            other.observe { event in
                guard event == .head else { return }
                mayAnswer.signal()
                hasAnswered.wait()
                sink.control?.suspend()
            }
            _ = try await transport.fetch(request(server.url("/get")), other)
            _ = try await transport.fetch(request(server.url("/get")))
            sink.control?.resume()
            let response = try await task.value
            #expect(response.text == "late" && response.outcome.head.headers["B"] == "2")
        }
    }

    @Test func transferCanBeSuspendedWithinTheBody() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            sink.observe { event in
                guard event == .head else { return }
                sink.control?.suspend()
                let control = sink.control
                Task {
                    try await Task.sleep(for: .milliseconds(30))
                    control?.resume()
                }
            }
            _ = try await transport.fetch(request(server.url("/bytes/3000000")), sink)
            #expect(sink.body == TestServer.patternBytes(count: 3_000_000))
        }
    }

    @Test func abortBySinkEndsExchangeWithItsError() async throws {
        try await withTransport { transport, server in
            let mine = CurlewError(.diskFull, phase: .file, reason: "mine")
            for atHead in [true, false] {
                let sink = CollectingSink()
                sink.state.withLock {
                    if atHead { $0.headAnswers = [.abort(mine)] } else { $0.bodyAnswers = [.abort(mine)] }
                }
                let error = await transport.failure(request(server.url("/bytes/1000")), sink)
                #expect(error.code == .diskFull)
                #expect(error.reason == "mine")
                #expect(error.responseCode == 200)
            }
        }
    }

    @Test func controlCancelsAndHasNoEffectAfterwards() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            sink.observe { event in
                if event == .head {
                    sink.control?.cancel(with: CurlewError(.cancelled, phase: .lifecycle, reason: "why"))
                }
            }
            server.script("/x", .bytes(1000).faulting(.stall(), at: .inBody(after: 10)))
            let error = await transport.failure(request(server.url("/x")), sink)
            #expect(error.code == .cancelled && error.reason == "why")
            sink.control?.resume()
            sink.control?.suspend()
            sink.control?.cancel(with: error)
            _ = try await transport.fetch(request(server.url("/get")))
        }
    }

    @Test func informationalHeadsComeFirst() async throws {
        try await withTransport { transport, server in
            server.script(
                "/x",
                .raw([
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                ]))
            let sink = CollectingSink()
            let answer = try await transport.fetch(request(server.url("/x")), sink)
            #expect(answer.text == "hi")
            #expect(sink.state.withLock { $0.informational.map(\.status) } == [103])
            #expect(sink.state.withLock { $0.informational.first?.headers["Link"] } == "</a>")
        }
    }

    @Test func trailersAreKeptApart() async throws {
        try await withTransport { transport, server in
            let text =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n"
            server.script("/x", .raw([text]))
            let answer = try await transport.fetch(request(server.url("/x")))
            #expect(answer.text == "hello")
            #expect(answer.outcome.trailers["x-sum"] == "42")
            #expect(answer.outcome.head.headers["X-Sum"] == nil)
        }
    }

    @Test func trailerWithoutColonIsAProtocolViolation() async throws {
        try await withTransport { transport, server in
            let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nnonsense\r\n\r\n"
            server.script("/x", .raw([text]))
            let error = await transport.failure(request(server.url("/x")))
            #expect(error.code == .protocolViolation)
            #expect(error.responseCode == 200)
        }
    }

    @Test(arguments: [204, 304]) func responsesWithoutBodyEndWithTheirHead(_ status: Int) async throws {
        try await withTransport { transport, server in
            server.route("/x") { _ in .status(status) }
            for _ in 0..<2 {
                let answer = try await transport.fetch(request(server.url("/x")))
                #expect(answer.status == status)
                #expect(answer.sink.body.isEmpty)
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test func headHasNoBodyAndKeepsItsConnection() async throws {
        try await withTransport { transport, server in
            for _ in 0..<2 {
                let answer = try await transport.fetch(request(server.url("/bytes/1000"), method: .head))
                #expect(answer.status == 200)
                #expect(answer.outcome.head.headers["Content-Length"] == "1000")
                #expect(answer.sink.body.isEmpty)
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test func defaultHeadersGoOutUnlessTheRequestHasItsOwn() async throws {
        try await withTransport { transport, server in
            let defaults = DefaultHeaders(["User-Agent": "curlew", "X-Default": "1"])
            for own in [HTTPHeaders(), ["X-Own": "2"], ["x-default": "3"]] {
                _ = try await transport.fetch(
                    request(server.url("/get"), headers: own) { $0.defaultHeaders = defaults })
                let seen = try #require(server.requests.last?.headers)
                #expect(seen["User-Agent"] == "curlew")
                #expect(seen.values(for: "X-Default") == [own["X-Default"] ?? "1"])
                #expect(seen["X-Own"] == own["X-Own"])
            }
        }
    }
}
