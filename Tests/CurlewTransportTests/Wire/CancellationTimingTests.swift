import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Cancellation", .timeLimit(.minutes(4)), .serialized)
struct CancellationTimingTests {
    private static let rounds = 7

    /// Cancels when `ready` returns, and expects the end within 50 ms. A busy machine may delay most rounds, so the
    /// second fastest decides.
    private func expectQuickEnd(
        _ transport: CurlTransport,
        phase: CurlewError.Phase,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ makeRequest: () -> (TransferRequest, CollectingSink),
        ready: () async throws -> Void
    ) async throws {
        var times: [Duration] = []
        for _ in 0..<Self.rounds {
            let (request, sink) = makeRequest()
            let task = Task { await transport.failure(request, sink) }
            try await ready()
            let start = ContinuousClock.now
            task.cancel()
            let error = await task.value
            times.append(ContinuousClock.now - start)
            #expect(error.code == .cancelled, sourceLocation: sourceLocation)
            #expect(error.phase == phase, sourceLocation: sourceLocation)
        }
        #expect(times.sorted()[1] < Duration.milliseconds(50).asTestBound, "\(times)", sourceLocation: sourceLocation)
    }

    @Test func requestCancelsQuicklyWhileWaitingForResponse() async throws {
        try await withTransport { transport, server in
            server.script("/never", Array(repeating: .hanging, count: Self.rounds))
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

    @Test func requestCancelsQuicklyWhileConnecting() async throws {
        try await withTransport { transport, _ in
            let deaf = try DeafListener()
            defer { deaf.close() }
            let url = try #require(URL(string: "http://127.0.0.1:\(deaf.port)/"))
            var count = 0
            try await expectQuickEnd(transport, phase: .connect) {
                (request(url), CollectingSink())
            } ready: {
                count += 1
                while transport.statistics.connectionsMade < count { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
    }

    @Test func requestCancelsQuicklyDuringTLSHandshake() async throws {
        try await withTransport { transport, _ in
            let hellos = Lock(0)
            let silent = try ByteServer { peer in
                if !peer.read(1).isEmpty { hellos.withLock { $0 += 1 } }
                while !peer.read().isEmpty {}
            }
            defer { silent.stop() }
            let url = try #require(URL(string: "https://127.0.0.1:\(silent.port)/"))
            var count = 0
            try await expectQuickEnd(transport, phase: .tls) {
                (request(url), CollectingSink())
            } ready: {
                // The first byte belongs to the client's part of the handshake.
                count += 1
                while hellos.withLock({ $0 }) < count { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
    }

    @Test func requestCancelsQuicklyWhileSinkIsPaused() async throws {
        try await withTransport { transport, server in
            let url = server.url("/bytes/10000000")
            let current = Lock<CollectingSink?>(nil)
            try await expectQuickEnd(transport, phase: .receive) {
                let sink = CollectingSink()
                sink.state.withLock { $0.bodyAnswers = [.proceed, .pause] }
                current.withLock { $0 = sink }
                return (request(url), sink)
            } ready: {
                while current.withLock({ $0?.state.withLock { $0.bodyAnswers.isEmpty } }) != true {
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
        }
    }

    @Test func requestCancelsQuicklyWhileSuspended() async throws {
        try await withTransport { transport, server in
            let url = server.url("/get")
            let current = Lock<CollectingSink?>(nil)
            try await expectQuickEnd(transport, phase: .queue) {
                let sink = CollectingSink()
                sink.observe { if $0 == .started { sink.control?.suspend() } }
                current.withLock { $0 = sink }
                return (request(url), sink)
            } ready: {
                while current.withLock({ $0?.control }) == nil { try await Task.sleep(for: .milliseconds(1)) }
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test func requestCancelsQuicklyWhileServerReadsNoBody() async throws {
        try await withTransport { transport, server in
            let deaf = TestServer.Response.text("").faulting(.stall(), at: .readingBody(after: 1000))
            server.script("/deaf", Array(repeating: deaf, count: Self.rounds))
            let url = server.url("/deaf")
            let data = Data(count: 50_000_000)
            let current = Lock<CollectingSink?>(nil)
            try await expectQuickEnd(transport, phase: .send) {
                let sink = CollectingSink()
                current.withLock { $0 = sink }
                return (
                    request(url, method: .put, body: .data(data)) { $0.options.expectContinue = .never }, sink
                )
            } ready: {
                var last: Int64? = -1
                while true {
                    let now = current.withLock { $0?.state.withLock { $0.sent.last } }
                    if now != nil, now == last { return }
                    last = now
                    try await Task.sleep(for: .milliseconds(30))
                }
            }
        }
    }

    @Test func requestCancelsQuicklyWhileQueued() async throws {
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

    @Test func requestCancelsQuicklyWithinResponseBody() async throws {
        try await withTransport { transport, server in
            let cut = TestServer.Response.bytes(1000).faulting(.stall(), at: .inBody(after: 10))
            server.script("/cut", Array(repeating: cut, count: Self.rounds))
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

    @Test func requestCancelsQuicklyWhileBodySourceIsEmpty() async throws {
        try await withTransport { transport, server in
            let url = server.url("/anything")
            let current = Lock<CollectingSink?>(nil)
            try await expectQuickEnd(transport, phase: .send) {
                let body = ScriptedBody([.bytes("some"), .pending])
                let outgoing = request(url, method: .post, body: .stream(body, length: 1000)) {
                    $0.options.expectContinue = .never
                }
                let sink = CollectingSink()
                current.withLock { $0 = sink }
                return (outgoing, sink)
            } ready: {
                while current.withLock({ $0?.state.withLock { $0.sent.last } }) != 4 {
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
        }
    }

    @Test func requestCancelledBeforeStartSendsNothing() async throws {
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
