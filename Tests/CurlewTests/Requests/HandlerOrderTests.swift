import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct HandlerOrderTests {
    let queue = DispatchQueue(label: "handlers")

    @Test func completionsComeInOrderAfterAllSerializers() async {
        let events = Recorded<String>()
        // Started immediately, the request might finish with the first handler before the second is attached.
        let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
        await withCheckedContinuation { continuation in
            session.request("https://example.org/")
                .response(queue: queue, responseSerializer: Noting("a", events)) { _ in events.note("A") }
                .response(queue: queue, responseSerializer: Noting("b", events)) { _ in events.note("B") }
                .response(queue: queue) { _ in
                    events.note("C")
                    continuation.resume()
                }
                .resume()
        }
        #expect(events.all == ["a", "b", "A", "B", "C"])
    }

    @Test func aHandlerAddedToAFinishedRequestRuns() async throws {
        let session = Session(transport: MockTransport { _ in .text("late") })
        let request = session.request("https://example.org/")
        _ = try await request.data()
        #expect(request.isFinished)
        let text = await withCheckedContinuation { continuation in
            request.responseString(queue: queue) { continuation.resume(returning: $0.value) }
        }
        #expect(text == "late")
    }

    @Test func aHandlerMayAddHandlers() async {
        let session = Session(transport: MockTransport { _ in .text("x") })
        let request = session.request("https://example.org/")
        let depth = await withCheckedContinuation { continuation in
            request.response(queue: queue) { _ in
                request.response(queue: self.queue) { _ in
                    request.response(queue: self.queue) { _ in continuation.resume(returning: 3) }
                }
            }
        }
        #expect(depth == 3)
    }

    @Test func requestsStartOnResumeWithoutAutomaticStart() async {
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, startRequestsImmediately: false)
        let request = session.request("https://example.org/")
        await withCheckedContinuation { continuation in
            request.response(queue: queue) { _ in continuation.resume() }
            #expect(request.isInitialized)
            #expect(transport.requests.isEmpty)
            request.resume()
        }
        #expect(transport.requests.count == 1)
    }

    @Test func awaitingTheResultStartsTheHandlers() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
        let request = session.request("https://example.org/")
        let (texts, called) = AsyncStream.makeStream(of: String?.self)
        request.responseString(queue: queue) { called.yield($0.value) }
        #expect(try await request.data() == Data("x".utf8))
        var iterator = texts.makeAsyncIterator()
        #expect(await iterator.next() == "x")
        #expect(request.isFinished)
    }

    @Test func aDroppedSessionEndsRequestsThatWereNeverStarted() async {
        let code = await withCheckedContinuation { continuation in
            let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
            session.request("https://example.org/").response(queue: queue) {
                continuation.resume(returning: $0.error?.code)
            }
        }
        #expect(code == .sessionClosed)
    }

    @Test func aDecoderThatThrowsFailsOnlyItsHandler() async {
        let session = Session(transport: MockTransport { _ in .text("no json") })
        let request = session.request("https://example.org/")
        let decoded = await request.serializingDecodable([Int].self).result
        let text = await request.serializingString().result
        guard case .failure(let error) = decoded else {
            Issue.record("decoded")
            return
        }
        #expect(error.code == .decodingFailed)
        #expect((try? text.get()) == "no json")
    }

    @Test func retriersAreAskedOncePerAttemptAndFailedSerializer() async {
        let retrier = CountingRetrier(retries: 1)
        let transport = MockTransport { _ in .status(401) }
        let session = Session(transport: transport, interceptor: retrier)
        let request = session.request("https://example.org/").validate()
        _ = await request.serializingDecodable([Int].self).response
        #expect(request.retryCount == 1)
        #expect(transport.requests.count == 2)
        #expect(retrier.calls.all.count == 3)
    }

    @Test func requestCancelledBySerializerIsNotRetried() async {
        struct CancellingDecoder: DataDecoder {
            let request: Recorded<Request>

            func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
                for request in request.all { request.cancel() }
                throw CocoaError(.coderReadCorrupt)
            }
        }
        let retrier = CountingRetrier(retries: 1)
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, interceptor: retrier)
        let (handled, awaited) = (session.request("https://example.org/"), session.request("https://example.org/"))
        for (request, isAwaited) in [(handled, false), (awaited, true)] {
            let cancelled = Recorded<Request>()
            cancelled.note(request)
            let decoder = CancellingDecoder(request: cancelled)
            if isAwaited {
                await #expect(throws: CurlewError.self) { try await request.decode(Int.self, decoder: decoder) }
            } else {
                let result = await request.serializingDecodable(Int.self, decoder: decoder).result
                #expect((try? result.get()) == nil)
            }
            #expect(request.isCancelled)
        }
        #expect(transport.requests.count == 2)
        #expect(retrier.calls.all.isEmpty)
        await session.drain()
    }

    @Test func retryForSerializerSendsRequestAgain() async {
        let retrier = CountingRetrier(retries: 1)
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.text("[not json"), .text("[1,2]"))
        let session = Session(transport: transport, interceptor: retrier)
        let value = await session.request("https://example.org/").serializingDecodable([Int].self).result
        #expect((try? value.get()) == [1, 2])
    }

    @Test func handlesShareOneExchange() async throws {
        let transport = MockTransport { _ in .text("7") }
        let request = Session(transport: transport).request("https://example.org/")
        async let number = request.serializingDecodable(Int.self).value
        async let text = request.serializingString().value
        #expect(try await number == 7)
        #expect(try await text == "7")
        #expect(transport.requests.count == 1)
    }

    @Test func cancellingAHandleCancelsItsRequest() async throws {
        let transport = MockTransport { _ in .hanging }
        let request = Session(transport: transport).request("https://example.org/")
        let handle = request.serializingData()
        try await transport.waitForRequests(count: 1)
        handle.cancel()
        let response = await handle.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(request.isCancelled)
    }

    @Test func cancelledUnstartedRequestCallsItsHandlers() async {
        let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
        let request = session.request("https://example.org/")
        let code = await withCheckedContinuation { continuation in
            request.response(queue: queue) { continuation.resume(returning: $0.error?.code) }
            request.cancel()
        }
        #expect(code == .cancelled)
        #expect(request.tasks.isEmpty)
    }
}

private struct Noting: DataResponseSerializerProtocol {
    let name: String
    let events: Recorded<String>

    init(_ name: String, _ events: Recorded<String>) {
        self.name = name
        self.events = events
    }

    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws -> Int {
        events.note(name)
        return data?.count ?? 0
    }
}

/// Retries a request `retries` times, and records every call.
final class CountingRetrier: RequestInterceptor {
    let calls = Recorded<CurlewError.Code>()
    let retries: Int

    init(retries: Int) { self.retries = retries }

    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        calls.note((error as? CurlewError)?.code ?? .internal)
        return request.retryCount < retries ? .retry : .doNotRetry
    }
}

extension DispatchQueue {
    /// Returns when all blocks that were enqueued before have run.
    func settled() async {
        await withCheckedContinuation { continuation in async { continuation.resume() } }
    }
}
