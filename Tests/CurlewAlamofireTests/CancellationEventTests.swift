import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// Cancels again and again, from a monitor that receives the first task of a request that starts by itself.
@Suite(.timeLimit(.minutes(4)))
struct CancellationEventTests {
    private struct Seen {
        var cancellations = 0
        var cancelledTasks = 0
        var suspensions = 0
        var finishes = 0

        var isComplete: Bool { cancellations > 0 && cancelledTasks > 0 && finishes > 0 }
    }

    /// A monitor observes a request and takes no part in it, so its cancellation is in time only if the response takes
    /// long. This server never responds.
    @Test(arguments: [true, false]) func cancellationByMonitorIsReportedOnce(sharesQueue: Bool) async throws {
        let server = try TestServer()
        for round in 0..<500 {
            let queue = DispatchQueue(label: "monitor")
            let monitor = ClosureEventMonitor(queue: sharesQueue ? queue : DispatchQueue(label: "other"))
            let seen = Lock(Seen())
            let told = AsyncStream<Void>.makeStream()
            let note: @Sendable (@Sendable (inout Seen) -> Void) -> Void = { change in
                let isComplete = seen.withLock { seen in
                    change(&seen)
                    return seen.isComplete
                }
                if isComplete { told.continuation.finish() }
            }
            monitor.requestDidCancel = { _ in note { $0.cancellations += 1 } }
            monitor.requestDidCancelTask = { _, _ in note { $0.cancelledTasks += 1 } }
            monitor.requestDidSuspend = { _ in note { $0.suspensions += 1 } }
            monitor.requestDidSuspendTask = { _, _ in note { $0.suspensions += 1 } }
            monitor.requestDidFinish = { _ in note { $0.finishes += 1 } }
            monitor.requestDidCreateTask = { request, _ in for _ in 0..<100 { request.cancel() } }
            let session = Session(rootQueue: queue, eventMonitors: [monitor])
            let request = session.request(server.url("/hang"))
            let error = await withCheckedContinuation { continuation in
                request.response(queue: queue) { continuation.resume(returning: $0.error?.code) }
            }
            // The monitor may receive the end later than the handler.
            for await _ in told.stream {}
            #expect(error == .cancelled, "round \(round)")
            #expect(request.state == .cancelled)
            let counts = seen.withLock { $0 }
            #expect(counts.cancellations == 1 && counts.cancelledTasks == 1, "round \(round): \(counts)")
            #expect(counts.suspensions == 0 && counts.finishes == 1, "round \(round): \(counts)")
            await session.invalidate()
        }
    }
}
