import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Methods that act on all requests of a session, mostly in their forms for callers that do not wait.
@Suite(.timeLimit(.minutes(4)))
struct AllRequestsTests {
    /// The form with a completion closure, for callers that cannot `await`.
    private func cancelAll(of session: Session) { session.cancelAllRequests {} }

    @Test(arguments: [Session.RequestSetup.lazy, .eager], [true, false])
    func hundredRequestsAreCancelledTogether(setup: Session.RequestSetup, startsThem: Bool) async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .hanging }
        let session = Session(
            transport: transport,
            startRequestsImmediately: startsThem,
            requestSetup: setup,
            eventMonitors: [monitor]
        )
        let responses = Recorded<CurlewError?>()
        let ends = Recorded<Int>()
        for _ in 0..<100 {
            session.request("https://example.org/").response(queue: .global()) { responses.note($0.error) }
        }
        if startsThem { try await transport.waitForRequests(count: 100) }
        session.cancelAllRequests(completingOnQueue: .global()) { ends.note(1) }
        try await eventually { responses.all.count == 100 && !ends.all.isEmpty }
        #expect(responses.all.allSatisfy { $0?.isExplicitlyCancelledError == true })
        #expect(await session.activeRequests.isEmpty)
        await session.drain()
        await monitor.queue.settled()
        let tasks = monitor.events.all.filter { $0 == "didCreateTask" }.count
        if startsThem { #expect(tasks == 100) }
        #expect(monitor.events.all.filter { $0 == "didCancelTask" }.count == tasks)
        #expect(monitor.events.all.filter { $0 == "didGatherMetrics" }.count == tasks)
    }

    @Test func cancelAllDoesNotAffectLaterRequests() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") })
        for _ in 0..<200 {
            cancelAll(of: session)
            let response = await session.request("https://example.org/").serializingString().response
            #expect(response.value == "x")
        }
    }

    /// Another thread has begun the run of a request that was not started, and has not registered the request yet.
    @Test func cancellingAllWaitsForARequestThatIsJustBeingStarted() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, startRequestsImmediately: false)
        let request = session.request("https://example.org/").response(queue: .global()) { _ in }
        let start = try #require(request.record.withLock { $0.lifecycle.resume() })
        let hasReturned = Gate()
        let cancelling = Task {
            await session.cancelAllRequests()
            hasReturned.open()
        }
        try await eventually { hasReturned.isOpen || request.record.withLock { $0.awaitedResult != nil } }
        #expect(!hasReturned.isOpen)
        request.finishResuming(start, reporting: nil)
        await cancelling.value
        #expect(request.error?.isExplicitlyCancelledError == true)
        #expect(await session.activeRequests.isEmpty)
    }

    @Test func allRequestsCanBeSuspended() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, requestSetup: .eager)
        let requests = (0..<10).map { _ in session.request("https://example.org/") }
        let seen = Recorded<Int>()
        session.withAllRequests { all in
            for request in all { request.suspend() }
            seen.note(all.count)
        }
        try await eventually { !seen.all.isEmpty }
        #expect(seen.all == [10])
        #expect(requests.filter(\.isSuspended).count == 10)
        await session.cancelAllRequests()
    }

    @Test func cancelAllCancelsRetriedRequest() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.status(401), .hanging)
        let session = Session(transport: transport, interceptor: Retrier { _, _, _ in .retry })
        let request = session.request("https://example.org/").validate()
        let handle = request.serializingData()
        try await transport.waitForRequests(count: 2)
        cancelAll(of: session)
        #expect(await handle.response.error?.isExplicitlyCancelledError == true)
        #expect(request.tasks.count == 2)
    }
}
