import CurlewLocks
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Loop", .timeLimit(.minutes(4)))
struct LoopExecutorTests {
    @Test func whatIsAskedDuringTheWaitComesBeforeTheSockets() async throws {
        let transport = CurlTransport()
        let url = try #require(URL(string: "http://host/"))
        let transfer = try transport.makeTransfer(request(url), CollectingSink())
        let loop = LoopExecutor(wakeUp: try #require(LoopMechanism.epoll.make()).wakeUp)
        let steps = await withCheckedContinuation { continuation in
            let client = RecordingClient(loop: loop, transfer: transfer) { continuation.resume(returning: $0) }
            if !loop.start(client) { continuation.resume(returning: []) }
        }
        #expect(steps == ["wait", "take", "serve", "end of turn", "wait", "end of turn", "end"])
    }
}

/// Notes its steps. A command comes while it waits the first time, the loop's end while it waits the second time.
// SAFETY: the loop's thread alone calls it.
private final class RecordingClient: LoopClient, @unchecked Sendable {
    private let loop: LoopExecutor
    private let transfer: ActiveTransfer
    private let finished: ([String]) -> Void
    private var steps: [String] = []

    init(loop: LoopExecutor, transfer: ActiveTransfer, finished: @escaping ([String]) -> Void) {
        (self.loop, self.transfer, self.finished) = (loop, transfer, finished)
    }

    func waitForSockets(mayWait: Bool) {
        loop.send(steps.isEmpty ? .command(transfer, .suspend) : .stop)
        steps.append("wait")
    }

    func take(_ item: LoopItem) { steps.append("take") }
    func serveSockets() { steps.append("serve") }
    func endTurn() { steps.append("end of turn") }

    func end() {
        steps.append("end")
        finished(steps)
    }
}
