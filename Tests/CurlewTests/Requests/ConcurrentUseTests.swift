import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Dispatch
import Foundation
import Testing

/// Requests over the wire that several threads use at once, each in a random way.
@Suite(.timeLimit(.minutes(4)))
struct ConcurrentUseTests {
    /// The action of one thread on a request that other threads use, too.
    private enum Step: CaseIterable {
        case attach, resume, suspend, cancel, await, awaitAndGiveUp, read, cancelAll
    }

    /// Counts the handlers that were attached and the handlers that were called.
    private final class Handlers: Sendable {
        private let counts = Lock((attached: 0, called: 0))

        func attach(to request: DataRequest) {
            counts.withLock { $0.attached += 1 }
            request.response(queue: .global()) { [counts] _ in counts.withLock { $0.called += 1 } }
        }

        var attached: Int { counts.withLock { $0.attached } }
        var missing: Int { counts.withLock { $0.attached - $0.called } }
    }

    private static let rounds = 60

    @Test(arguments: 0..<8)
    func everyRequestEndsUnderConcurrentUse(_ seed: Int) async throws {
        let server = try TestServer()
        let transport = CurlTransport()
        let setup: Session.RequestSetup = seed % 2 == 0 ? .lazy : .eager
        let session = Session(transport: transport, startRequestsImmediately: seed % 4 < 2, requestSetup: setup)
        let handlers = Handlers()
        for round in 0..<Self.rounds {
            let requests = ["/get", "/bytes/100000", "/status/503", "/redirect/2"].map {
                session.request(server.url($0))
            }
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    let steps = Self.steps(seed: UInt64(seed * 100_000 + round * 10 + worker))
                    group.addTask {
                        for (step, index) in steps { await Self.take(step, requests[index], session, handlers) }
                    }
                }
            }
            // A suspended request would wait forever, and so would one that was never started.
            for request in requests {
                handlers.attach(to: request)
                request.resume()
                _ = await request.response()
            }
        }
        await session.drain()
        // Handlers are called after their request has ended.
        try await eventually(within: .seconds(20)) { handlers.missing == 0 }
        #expect(handlers.attached >= 4 * Self.rounds)
        #expect(await session.activeRequests.isEmpty)
        try await eventually(within: .seconds(20)) { transport.statistics.liveTransfers == 0 }
    }

    private static func steps(seed: UInt64) -> [(Step, Int)] {
        var random = SplitMix(seed: seed)
        // Cancelling everything ends the round for all threads, so it is chosen less often.
        let steps = Step.allCases.flatMap { $0 == .cancelAll ? [$0] : [$0, $0, $0, $0] }
        return (0..<12).map { _ in
            (steps.randomElement(using: &random) ?? .attach, Int.random(in: 0..<4, using: &random))
        }
    }

    private static func take(_ step: Step, _ request: DataRequest, _ session: Session, _ handlers: Handlers) async {
        switch step {
        case .attach: handlers.attach(to: request)
        case .resume: request.resume()
        case .suspend: request.suspend()
        case .cancel: request.cancel()
        case .await: Task { _ = await request.response() }
        case .awaitAndGiveUp:
            let task = Task { try? await request.data() }
            await Task.yield()
            task.cancel()
        case .read: _ = (request.state, request.data, request.downloadProgress, request.metrics, "\(request)")
        case .cancelAll: await session.cancelAllRequests()
        }
    }
}
