import CurlewCore
import CurlewTesting
import CurlewTransport
import Dispatch
import Foundation
import Testing

@Suite("Suspension while waiting for a connection", .timeLimit(.minutes(4)))
struct HeldInQueueTimingTests {
    @Test func queueTimeoutPausesWhileSuspended() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            server.script("/never", .hanging)
            let started = AsyncStream<Void>.makeStream()
            let blocking = CollectingSink()
            blocking.observe { if $0 == .started { started.continuation.finish() } }
            let blocker = Task { try? await transport.fetch(request(server.url("/never")), blocking) }
            for await _ in started.stream {}

            let clock = Duration.milliseconds(500).asTestBound
            let (held, isHeld) = (CollectingSink(), AsyncStream<Void>.makeStream())
            held.observe { event in
                guard event == .started else { return }
                // Suspends from another thread, because within this call the transfer has not reached the queue.
                DispatchQueue.global().async {
                    held.control?.suspend()
                    isHeld.continuation.finish()
                }
            }
            async let answer = transport.fetch(request(server.url("/get")) { $0.options.timeouts.queue = clock }, held)
            for await _ in isHeld.stream {}
            // This request has an equal timeout and starts later, so by its end the suspended one would have timed out,
            // too.
            let other = await transport.failure(request(server.url("/get")) { $0.options.timeouts.queue = clock })
            #expect(other.code == .queueTimedOut)
            blocker.cancel()
            _ = await blocker.value
            held.control?.resume()
            let status = try await answer.status
            #expect(status == 200)
        }
    }
}
