import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Cancellation", .timeLimit(.minutes(1)), .serialized)
struct CancellationTimingTests {
    /// Cancels when `ready` returns, and expects the end within 50 ms. A busy machine may delay any one
    /// try, so the best of five counts.
    private func expectQuickEnd(
        _ transport: CurlTransport,
        phase: CurlewError.Phase,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ makeRequest: () -> (TransferRequest, CollectingSink),
        ready: () async throws -> Void
    ) async throws {
        var best = Duration.seconds(100)
        for _ in 0..<5 {
            let (request, sink) = makeRequest()
            let task = Task { await transport.failure(request, sink) }
            try await ready()
            let start = ContinuousClock.now
            task.cancel()
            let error = await task.value
            best = min(best, ContinuousClock.now - start)
            #expect(error.code == .cancelled, sourceLocation: sourceLocation)
            #expect(error.phase == phase, sourceLocation: sourceLocation)
            if best < Duration.milliseconds(50) { return }
        }
        #expect(best < Duration.milliseconds(50).asTestBound, sourceLocation: sourceLocation)
    }

    @Test func whileWaitingForTheResponse() async throws {
        try await withTransport { transport, server in
            server.script("/never", Array(repeating: .hanging, count: 5))
            let url = server.url("/never")
            var count = 0
            try await expectQuickEnd(transport, phase: .waiting) {
                (request(url), CollectingSink())
            } ready: {
                count += 1
                try await server.waitForRequests(count: count)
            }
        }
    }

    @Test func whileConnecting() async throws {
        try await withTransport { transport, _ in
            let deaf = try DeafListener()
            defer { deaf.close() }
            let url = try #require(URL(string: "http://127.0.0.1:\(deaf.port)/"))
            try await expectQuickEnd(transport, phase: .connect) {
                (request(url), CollectingSink())
            } ready: {
                while transport.statistics.openSockets == 0 { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
    }

    @Test func whileQueued() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            server.script("/never", .hanging)
            let url = server.url("/never")
            let blocker = Task { await transport.failure(request(url)) }
            try await server.waitForRequests(count: 1)
            let queued = server.url("/get")
            try await expectQuickEnd(transport, phase: .queue) {
                (request(queued), CollectingSink())
            } ready: {
                while transport.statistics.liveTransfers < 2 { try await Task.sleep(for: .milliseconds(1)) }
            }
            blocker.cancel()
            #expect(await blocker.value.code == .cancelled)
            #expect(server.requestCount == 1)
        }
    }

    @Test func inTheMiddleOfABody() async throws {
        try await withTransport { transport, server in
            let cut = TestServer.Response.bytes(1000).faulting(.stall(), at: .inBody(after: 10))
            server.script("/cut", Array(repeating: cut, count: 5))
            let url = server.url("/cut")
            let current = Lock<CollectingSink?>(nil)
            try await expectQuickEnd(transport, phase: .receive) {
                let sink = CollectingSink()
                current.withLock { $0 = sink }
                return (request(url), sink)
            } ready: {
                while current.withLock({ $0?.body.count }) != 10 { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
    }

    @Test func whileTheBodysSourceHasNothing() async throws {
        try await withTransport { transport, server in
            let url = server.url("/anything")
            var bytes: Int64 = 0
            try await expectQuickEnd(transport, phase: .send) {
                let body = ScriptedBody([.bytes("some"), .pending])
                let outgoing = request(url, method: .post, body: .stream(body, length: 1000)) {
                    $0.options.expectContinue = .never
                }
                return (outgoing, CollectingSink())
            } ready: {
                bytes += 5
                try await server.waitForBytesReceived(bytes)
            }
        }
    }

    @Test func beforeTheStartSendsNothing() async throws {
        try await withTransport { transport, server in
            let url = server.url("/get")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await transport.failure(request(url))
            }
            #expect(await task.value.code == .cancelled)
            #expect(server.connectionCount == 0)
        }
    }
}
