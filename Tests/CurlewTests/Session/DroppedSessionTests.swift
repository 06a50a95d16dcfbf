import Curlew
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// A session may be released without being closed, in any state of its requests.
@Suite("Dropped sessions", .timeLimit(.minutes(4)))
struct DroppedSessionTests {
    /// Weak references to objects that must be released in the end.
    private final class Left: Sendable {
        // SAFETY: weak references are read and written under the lock only.
        private struct References: @unchecked Sendable {
            weak var session: Session?
            weak var request: Request?
        }

        private let references = Lock(References())

        func watch(_ session: Session, _ request: Request?) {
            references.withLock {
                $0.session = session
                $0.request = request
            }
        }

        var session: Session? { references.withLock { $0.session } }

        /// Objects are released when the last task that used them has returned, which may be after its result is known.
        func expectGone(sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try? await eventually { references.withLock { $0.session == nil && $0.request == nil } }
            #expect(references.withLock { $0.session } == nil, sourceLocation: sourceLocation)
            #expect(references.withLock { $0.request } == nil, sourceLocation: sourceLocation)
        }
    }

    @Test func droppedSessionFailsHandlersOfUnstartedRequests() async throws {
        let left = Left()
        let answers = Recorded<CurlewError.Code?>()
        let transport = MockTransport { _ in .text("x") }
        await withCheckedContinuation { continuation in
            let session = Session(transport: transport, startRequestsImmediately: false)
            let request = session.request("https://example.org/")
            request.responseString { answers.note($0.error?.code) }
            request.responseData {
                answers.note($0.error?.code)
                continuation.resume()
            }
            left.watch(session, request)
        }
        #expect(answers.all == [.sessionClosed, .sessionClosed])
        #expect(transport.requests.isEmpty)
        try await left.expectGone()
    }

    @Test func droppedSessionLetsRunningRequestsFinish() async throws {
        let left = Left()
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("late")
        }
        let answers = Recorded<String?>()
        let (ended, end) = AsyncStream<Void>.makeStream()
        do {
            let session = Session(transport: transport)
            let request = session.request("https://example.org/").responseString {
                answers.note($0.value)
                end.finish()
            }
            left.watch(session, request)
        }
        try await transport.waitForRequests(count: 1)
        #expect(left.session != nil)
        gate.open()
        for await _ in ended {}
        #expect(answers.all == ["late"])
        try await left.expectGone()
    }

    @Test func droppedSessionIsReleasedAfterRequestsOfAnyOutcome() async throws {
        let count = Lock(0)
        let transport = MockTransport { request in
            switch request.path {
            case "/hanging": return .hanging
            case "/moved": return MockResponse(status: 302, headers: ["Location": "/ok"])
            case "/again":
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number < 3 ? .status(503) : .text("at last")
            default: return .text("ok")
            }
        }
        for path in ["/hanging", "/moved", "/again", "/ok"] {
            let left = Left()
            let before = transport.requests.count
            let task = {
                let session = Session(
                    transport: transport,
                    interceptor: RetryPolicy(retryLimit: 5, exponentialBackoffScale: 0.01)
                )
                let request = session.request("https://example.org\(path)")
                left.watch(session, request)
                return Task { try? await request.string() }
            }()
            try await transport.waitForRequests(count: before + 1)
            if path == "/hanging" { task.cancel() }
            let text = await task.value
            #expect(text == ["/hanging": nil, "/moved": "ok", "/again": "at last", "/ok": "ok"][path])
            try await left.expectGone()
        }
    }

    @Test func droppedSessionIsReleasedAfterUnfinishedStream() async throws {
        let server = try TestServer()
        let left = Left()
        do {
            let session = Session()
            let request = session.streamRequest(server.url("/bytes/50000000"))
            left.watch(session, request)
            for try await _ in request.chunks { break }
        }
        try await left.expectGone()
        try await server.waitForOpenConnections(atMost: 0)
        server.stop()
    }

    @Test func droppedSessionClosesItsConnections() async throws {
        let server = try TestServer()
        let left = Left()
        do {
            let session = Session()
            left.watch(session, nil)
            for _ in 0..<3 { _ = try await session.request(server.url("/get")).data() }
            #expect(server.openConnectionCount == 1)
        }
        try await left.expectGone()
        try await server.waitForOpenConnections(atMost: 0)
        server.stop()
    }
}
