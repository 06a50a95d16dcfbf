import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewTransport

/// Transfers that their callers start themselves, while the loop thread waits.
@Suite(
    "Transfers in borrowed turns", .timeLimit(.minutes(4)),
    .enabled(if: LoopMechanism(environment: ProcessInfo.processInfo.environment) == .epoll, "poll(2) lends no turns"),
    .enabled(if: Capabilities.ofLibcurl.isAtLeast(7, 88, 0), "libcurl before 7.88 lends no turns"))
struct BorrowedTurnWireTests {
    /// Starts that the loop thread makes have a turn each; those of callers have none of its turns.
    @Test func oneRequestAfterTheOtherTakesOneTurnOfTheLoopEach() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/bytes/10")))
            let before = transport.statistics
            for _ in 0..<200 { _ = try await transport.fetch(request(server.url("/bytes/10"))) }
            let after = transport.statistics
            #expect(after.connectionsMade == before.connectionsMade)
            // Two each where the loop thread starts them. A busy machine has it still at work at times.
            #expect(after.loopTurns - before.loopTurns < 320)
        }
    }

    @Test func aShortDeadlineCountsForALoopThatSleeps() async throws {
        try await withTransport { transport, server in
            server.script("/x", .hanging, .hanging)
            for _ in 0..<2 {
                let error = await transport.failure(
                    request(server.url("/x")) {
                        $0.options.timeouts = Timeouts(
                            connect: nil, firstByte: .milliseconds(150), idle: nil, total: nil)
                    })
                #expect(error.code == .firstByteTimedOut)
            }
        }
    }

    @Test func whatIsHeldInWillStartStartsWhenItIsResumed() async throws {
        try await withTransport { transport, server in
            for _ in 0..<50 {
                let sink = CollectingSink()
                sink.observe { event in
                    if case .started = event { sink.control?.suspend() }
                }
                async let answer = transport.fetch(request(server.url("/bytes/10")), sink)
                while sink.control == nil { await Task.yield() }
                sink.control?.resume()
                let count = try await answer.sink.body.count
                #expect(count == 10)
            }
        }
    }

    @Test func whatIsCancelledInWillStartIsNotSent() async throws {
        try await withTransport { transport, server in
            for _ in 0..<50 {
                let sink = CollectingSink()
                sink.observe { event in
                    if case .started = event {
                        sink.control?.cancel(with: CurlewError(.cancelled, phase: .lifecycle))
                    }
                }
                #expect(await transport.failure(request(server.url("/bytes/10")), sink).code == .cancelled)
            }
            #expect(server.requests.isEmpty)
        }
    }

    /// Starts, cancellations, suspensions and ends from many threads. Turns are lent to one and two callers.
    @Test(arguments: [1, 2, 3, 24]) func nothingIsLostAmongManyCallers(_ callers: Int) async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 16 }) { transport, server in
            let answered = Lock(0)
            await withTaskGroup(of: Void.self) { group in
                for caller in 0..<callers {
                    group.addTask {
                        for round in 0..<(600 / callers) {
                            let sink = CollectingSink()
                            let isCancelled = (caller + round) % 7 == 0
                            let task = Task { try await transport.fetch(request(server.url("/bytes/\(round)")), sink) }
                            if isCancelled { task.cancel() }
                            if (caller + round) % 5 == 0 {
                                sink.control?.suspend()
                                sink.control?.resume()
                            }
                            switch await task.result {
                            case .success(let answer): #expect(answer.sink.body.count == round)
                            case .failure(let error):
                                #expect(isCancelled && (error as? CurlewError)?.code == .cancelled)
                            }
                            answered.withLock { $0 += 1 }
                        }
                    }
                }
            }
            #expect(answered.withLock { $0 } == callers * (600 / callers))
        }
    }

    @Test func shutdownMeetsCallersThatStart() async throws {
        let server = try TestServer()
        defer { server.stop() }
        for _ in 0..<20 {
            var configuration = TransportConfiguration()
            configuration.proxy = .none
            let transport = CurlTransport(configuration: configuration)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while true {
                            do throws(CurlewError) {
                                _ = try await transport.fetch(request(server.url("/bytes/10")))
                            } catch {
                                #expect(error.code == .sessionClosed)
                                return
                            }
                        }
                    }
                }
                group.addTask {
                    _ = try? await transport.fetch(request(server.url("/bytes/10")))
                    await transport.shutdown()
                }
            }
            #expect(transport.statistics.liveTransfers == 0)
        }
    }
}
