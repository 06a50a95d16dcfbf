import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Loop", .timeLimit(.minutes(4)))
struct LoopThreadTests {
    @Test func workSentDuringWaitRunsBeforeSocketEvents() async throws {
        let loop = LoopThread<RecordingClient>(wakeUp: try #require(EpollQueue.make()).wakeUp)
        let steps = await withCheckedContinuation { continuation in
            let client = RecordingClient(loop: loop) { continuation.resume(returning: $0) }
            if !loop.start(client) { continuation.resume(returning: []) }
        }
        #expect(steps == ["wait", "take", "serve", "end of turn", "wait", "end of turn", "end"])
    }

    @Test func onlyLoopThreadHasTheTurn() async throws {
        let loop = LoopThread<RecordingClient>(wakeUp: try #require(EpollQueue.make()).wakeUp)
        #expect(!loop.callerHasTurn)
        let steps = await withCheckedContinuation { continuation in
            let client = RecordingClient(loop: loop) { continuation.resume(returning: $0) }
            if !loop.start(client) { continuation.resume(returning: []) }
        }
        #expect(!steps.contains("on another thread"))
        #expect(!loop.callerHasTurn)
    }

    /// A caller may borrow the turn meanwhile, so nothing that belongs to the turn may be touched.
    @Test func theLoopsThreadDoesNotHaveTheTurnWhileItSleeps() async throws {
        let loop = LoopThread<RecordingClient>(wakeUp: try #require(EpollQueue.make()).wakeUp)
        let steps = await withCheckedContinuation { continuation in
            let client = RecordingClient(loop: loop) { continuation.resume(returning: $0) }
            if !loop.start(client) { continuation.resume(returning: []) }
        }
        #expect(steps.contains("wait"))
        #expect(!steps.contains("turn while asleep"))
    }

    #if DEBUG
    @Test func debugBuildTrapsIfOtherThreadUsesTransfers() async {
        await #expect(processExitsWith: .failure) {
            try OwnersOfAnEngine().transfers.closeAll()
        }
    }

    @Test func debugBuildTrapsIfOtherThreadUsesSockets() async {
        await #expect(processExitsWith: .failure) {
            try OwnersOfAnEngine().sockets.beginTurn(eventCount: 0)
        }
    }

    @Test func debugBuildTrapsIfOtherThreadUsesHandles() async {
        await #expect(processExitsWith: .failure) {
            try OwnersOfAnEngine().handles.closeAll()
        }
    }
    #endif
}

/// The parts of an engine, without its loop.
private struct OwnersOfAnEngine {
    let sockets: Sockets
    let handles: Handles
    let transfers: Transfers

    init() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let settings = try EngineSettings(configuration, .current(.ofLibcurl), alternatives: nil)
        let system = try #require(EpollQueue.make())
        let loop = EngineLoop(wakeUp: system.wakeUp)
        sockets = Sockets(settings, queue: system.queue, loop: loop)
        handles = Handles(settings, sockets: sockets, loop: loop)
        transfers = Transfers(settings, sockets: sockets, handles: handles, loop: loop)
    }
}

/// Records its steps. During its first wait it sends work, during the second it stops the loop.
// SAFETY: only the loop's thread calls it.
private final class RecordingClient: LoopClient, @unchecked Sendable {
    private let loop: LoopThread<RecordingClient>
    private let finished: ([String]) -> Void
    private var steps: [String] = []

    init(loop: LoopThread<RecordingClient>, finished: @escaping ([String]) -> Void) {
        (self.loop, self.finished) = (loop, finished)
    }

    let lendsTurns = false
    let waitsTooLong = false

    func planWait() {}

    func waitForSockets(mayWait: Bool) {
        let (isFirst, hasTurn) = (steps.isEmpty, loop.callerHasTurn)
        if hasTurn { steps.append("turn while asleep") }
        // Wakes the loop's thread, which has the turn again.
        if isFirst { loop.send(1) } else { loop.stop() }
        note("wait")
    }

    func beginTurn() {}
    func carryOut(_ work: Int) { note("take") }
    func serveSockets() { note("serve") }
    func endTurn() { note("end of turn") }

    func end() {
        note("end")
        finished(steps)
    }

    private func note(_ step: String) { steps.append(loop.callerHasTurn ? step : "on another thread") }
}
