import CurlewCore
import CurlewTesting
import Glibc
import Testing

@testable import Curlew

/// The cost of one request must not depend on the number of other requests of the session.
@Suite("Many requests", .timeLimit(.minutes(2)), .serialized)
struct ManyRequestsTimingTests {
    /// The processor time of the thread. Elapsed time would depend on the machine's load, and more so for the longer
    /// measurement.
    private func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Returns how long the end of each of `count` awaited requests takes, in the fastest of five rounds.
    private func timeOfEachEnd(_ count: Int) async throws -> Duration {
        let session = Session(transport: MockTransport())
        let requests = (0..<count).map { _ in session.request("https://example.org/") }
        var fastest = Duration.seconds(3600)
        for _ in 0..<5 {
            var registry = RequestRegistry()
            var names: [TaskIdentifier] = []
            for request in requests { names.append(try registry.join(request)) }
            let waiter = registry.wait(for: requests, isUserCode: false)
            let ended = try #require(waiter)
            let began = threadTime()
            for (request, name) in zip(requests, names) {
                for ended in registry.leave(request, last: name) { ended.resolve(()) }
            }
            fastest = min(fastest, (threadTime() - began) / count)
            #expect(ended.value != nil)
            #expect(registry.activeRequests.isEmpty)
        }
        return fastest
    }

    @Test func endingARequestCostsTheSameAmongMany() async throws {
        // A walk along all awaited requests would make it fifty times as much.
        let (few, many) = (try await timeOfEachEnd(400), try await timeOfEachEnd(20_000))
        #expect(many < few * 10, "\(few) among 400, \(many) among 20 000")
    }

    @Test func everyWaiterReturnsWhenHundredsAreCancelled() async throws {
        let transport = MockTransport { _ in .hanging }
        let session = Session(transport: transport)
        let count = 400
        let tasks = (0..<count).map { number in
            Task { try await session.request("https://example.org/\(number)").data() }
        }
        try await transport.waitForRequests(count: count)
        async let drained: Void = session.drain()
        async let cancelled: Void = session.cancelAllRequests()
        async let again: Void = session.cancelAllRequests()
        _ = await (drained, cancelled, again)
        #expect(await session.activeRequests.isEmpty)
        #expect(transport.runningCount == 0)
        for task in tasks {
            let error = await #expect(throws: CurlewError.self) { try await task.value }
            #expect(error?.isCancellation == true)
        }
    }
}
