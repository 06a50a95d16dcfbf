import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Callers start their transfers themselves while the loop thread waits.
@Suite(
    "Transfers in borrowed turns", .timeLimit(.minutes(4)),
    .enabled(if: Capabilities.ofLibcurl.quirks.suppressesSIGPIPE, "libcurl before 7.88 lends no turns"))
struct BorrowedTurnWireTests {
    /// A caller that is faster than the loop thread finds it awake, but some of a thousand requests find it asleep.
    @Test func sequentialRequestsStartOnCallersThread() async throws {
        try await withTransport { transport, server in
            let startedByCaller = Lock(0)
            for _ in 0..<1_000 where startedByCaller.withLock({ $0 < 3 }) {
                let sink = CollectingSink()
                sink.observe { event in
                    if case .started = event, Self.threadName != "curlew-loop" { startedByCaller.withLock { $0 += 1 } }
                }
                let answer = try await transport.fetch(request(server.url("/bytes/10")), sink)
                #expect(answer.sink.body.count == 10)
            }
            #expect(startedByCaller.withLock { $0 } == 3)
            #expect(server.connectionCount == 1)
        }
    }

    private static var threadName: String {
        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return name?.trimmingCharacters(in: .newlines) ?? "curlew-loop"
    }

    @Test func shortTimeoutWakesTheSleepingLoop() async throws {
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

    @Test func requestSuspendedInWillStartRunsAfterResume() async throws {
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

    @Test func requestCancelledInWillStartIsNotSent() async throws {
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

    /// Starts, cancels, suspends and ends transfers from many threads. Turns are lent only while at most two transfers
    /// run.
    @Test(arguments: [1, 2, 3, 24]) func concurrentCallersLoseNoRequest(_ callers: Int) async throws {
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
                                let code = (error as? CurlewError)?.code
                                #expect(
                                    isCancelled && code == .cancelled,
                                    "caller \(caller), round \(round): \(error), \(String(describing: sink.head))")
                            }
                            answered.withLock { $0 += 1 }
                        }
                    }
                }
            }
            #expect(answered.withLock { $0 } == callers * (600 / callers))
        }
    }

    @Test func shutdownDuringRequestStartsEndsEveryRequest() async throws {
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
