import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Failures and cancellation of middleware", .timeLimit(.minutes(4)))
struct MiddlewareFailureTests {
    private static let url = "https://example.com/a"

    @Test func `an error of another type is wrapped, a CurlewError is not`() async throws {
        let session = Session(
            over: MockTransport(),
            Wrap { request, _ in
                if request.url?.query() == "own" { throw CurlewError(.connectFailed, phase: .connect, reason: "own") }
                throw UserFailure()
            })
        let wrapped = await failure(of: session.request(Self.url))
        #expect(wrapped?.code == .adaptationFailed)
        #expect(wrapped?.underlying is UserFailure)
        #expect(wrapped?.url?.path() == "/a")
        let own = await failure(of: session.request(Self.url + "?own"))
        #expect(own?.code == .connectFailed)
        #expect(own?.phase == .connect)
        await session.invalidate()
    }

    @Test func `an error of a reply's stream is wrapped, and ends the response`() async throws {
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                let chunks = AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.yield(Data("a".utf8))
                    continuation.finish(throwing: UserFailure())
                }
                return Reply(head: ResponseHead(status: 200), body: .stream(chunks))
            })
        let error = await failure(of: session.request(Self.url))
        #expect(error?.code == .adaptationFailed)
        #expect(error?.underlying is UserFailure)
        await session.invalidate()
    }

    @Test(arguments: [0, 101, 199, 1000])
    func `a reply must have a final status`(_ status: Int) async throws {
        let session = Session(over: MockTransport(), Wrap { _, _ in Reply(status: status) })
        #expect(await failure(of: session.request(Self.url))?.code == .protocolViolation)
        await session.invalidate()
    }

    @Test("cancelling the request or its task ends its middleware and its transfer", arguments: [true, false])
    func cancelled(byRequest: Bool) async throws {
        let transport = MockTransport { _ in .hanging }
        let ended = Gate()
        let session = Session(
            over: transport,
            Wrap { request, next in
                defer { ended.open() }
                return try await next(request)
            })
        let request = session.request(Self.url)
        let task = Task { await request.response().error?.code }
        try await transport.waitForRequests(count: 1)
        if byRequest { request.cancel() } else { task.cancel() }
        #expect(await task.value == .cancelled)
        #expect(ended.isOpen)
        #expect(transport.runningCount == 0)
        await session.invalidate()
    }

    @Test("cancelling ends middleware that waits for something other than its transfer", arguments: [true, false])
    func cancelledWhileWaiting(byRequest: Bool) async throws {
        let runs = Gate()
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                runs.open()
                try await Task.sleep(for: .seconds(3600))
                return Reply()
            })
        let request = session.request(Self.url)
        let task = Task { await request.response().error?.code }
        try await runs.wait()
        if byRequest { request.cancel() } else { task.cancel() }
        #expect(await task.value == .cancelled)
        await session.invalidate()
    }

    @Test func `cancelling ends the delivery of a stream that does not end`() async throws {
        let reads = Gate()
        let (chunks, continuation) = AsyncStream<Data>.makeStream()
        continuation.yield(Data("a".utf8))
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                Reply(
                    head: ResponseHead(status: 200),
                    body: .stream(
                        chunks.map { chunk in
                            reads.open()
                            return chunk
                        }))
            })
        let request = session.request(Self.url)
        let task = Task { await request.response().error?.code }
        try await reads.wait()
        request.cancel()
        #expect(await task.value == .cancelled)
        continuation.finish()
        await session.invalidate()
    }

    @Test("the total timeout ends middleware that sleeps, transfers or streams", arguments: 0..<3)
    func totalTimeout(_ place: Int) async throws {
        let transport = MockTransport { _ in .hanging }
        let (chunks, continuation) = AsyncStream<Data>.makeStream()
        let session = Session(
            over: transport,
            Wrap { request, next in
                switch place {
                case 0: try await Task.sleep(for: .seconds(3600))
                case 1: return try await next(request)
                default: break
                }
                return Reply(head: ResponseHead(status: 200), body: .stream(chunks))
            })
        let request = session.request(Self.url).timeouts { $0.total = .milliseconds(50) }
        #expect(await failure(of: request)?.code == .totalTimedOut)
        #expect(transport.runningCount == 0)
        continuation.finish()
        await session.invalidate()
    }

    @Test func `the total timeout ends a suspended request whose body code ignores cancellation`() async throws {
        let runs = Gate()
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                let chunks = AsyncStream<Data> { continuation in
                    continuation.yield(Data("a".utf8))
                    continuation.finish()
                }
                return try await Reply(head: ResponseHead(status: 200), body: .stream(chunks)).mapBody { chunk in
                    runs.open()
                    // Ends with the timeout, and then returns a chunk anyway.
                    try? await Task.sleep(for: .seconds(3600))
                    return chunk
                }
            })
        let request = session.request(Self.url).timeouts { $0.total = .seconds(1) }
        let task = Task { await request.response().error?.code }
        try await runs.wait()
        request.suspend()
        #expect(await task.value == .totalTimedOut)
        await session.invalidate()
    }

    @Test func `a body that a cancellation has cut short is not collected`() async throws {
        let reads = Gate()
        let kept = Lock<Data?>(nil)
        let (chunks, continuation) = AsyncStream<Data>.makeStream()
        continuation.yield(Data("ha".utf8))
        let session = Session(
            over: MockTransport(),
            Wrap { request, next in
                let reply = try await next(request)
                let body = try await reply.data()
                kept.withLock { $0 = body }
                return reply
            },
            Wrap { _, _ in
                let body = chunks.map { chunk in
                    reads.open()
                    return chunk
                }
                return Reply(head: ResponseHead(status: 200), body: .stream(body))
            })
        let request = session.request(Self.url)
        let task = Task { await request.response().error?.code }
        try await reads.wait()
        request.cancel()
        #expect(await task.value == .cancelled)
        #expect(kept.withLock { $0 } == nil)
        continuation.finish()
        await session.invalidate()
    }

    @Test func `a CancellationError of the middleware's own is a failure`() async throws {
        let session = Session(over: MockTransport(), Wrap { _, _ in throw CancellationError() })
        #expect(await failure(of: session.request(Self.url))?.code == .adaptationFailed)
        await session.invalidate()
    }

    @Test func `a middleware may end all requests of its session`() async throws {
        let sessions = Lock<Session?>(nil)
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                await sessions.withLock { $0 }?.cancelAllRequests()
                try Task.checkCancellation()
                return Reply()
            })
        sessions.withLock { $0 = session }
        #expect(await failure(of: session.request(Self.url))?.code == .cancelled)
        sessions.withLock { $0 = nil }
        await session.invalidate()
    }
}
