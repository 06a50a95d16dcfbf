import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Tasks on the loop", .timeLimit(.minutes(1)))
struct TaskExecutorTests {
    private static var thread: UInt { UInt(pthread_self()) }

    @Test func aTaskThatPrefersTheLoopStaysOnItsThread() async throws {
        try await withTransport { transport, server in
            let url = server.url("/get")
            let executor: any TaskExecutor = try #require(transport.taskExecutor)
            try await withTaskExecutorPreference(executor) {
                let before = Self.thread
                for _ in 0..<20 {
                    let answer = try await transport.fetch(request(url))
                    #expect(answer.status == 200)
                    #expect(Self.thread == before)
                }
            }
        }
    }

    @Test func manyShareTheThreadWithTheirExchanges() async throws {
        try await withTransport { transport, server in
            let url = server.url("/get")
            let threads = try await withThrowingTaskGroup(of: UInt.self) { group in
                for _ in 0..<100 {
                    group.addTask(executorPreference: transport.taskExecutor) {
                        _ = try await transport.fetch(request(url))
                        return Self.thread
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(threads.count == 1)
        }
    }

    @Test func cancellingReachesATaskOnTheLoop() async throws {
        try await withTransport { transport, server in
            server.script("/never", .hanging)
            let url = server.url("/never")
            let task = Task(executorPreference: transport.taskExecutor) { await transport.failure(request(url)) }
            try await server.waitForRequests(count: 1)
            task.cancel()
            #expect(await task.value.code == .cancelled)
        }
    }

    /// Its executor outlives the thread: what comes later runs elsewhere, and nothing is lost.
    @Test func aTaskGoesOnWhenItsLoopHasEnded() async throws {
        let server = try TestServer()
        for _ in 0..<20 {
            var transport: CurlTransport? = CurlTransport()
            let executor = try #require(transport?.taskExecutor)
            _ = try await transport?.fetch(request(server.url("/get")))
            let gate = Gate()
            let task = Task(executorPreference: executor) {
                try await gate.wait()
                await Task.yield()
                return 1
            }
            try await gate.waitForArrivals(count: 1)
            transport = nil
            try await server.waitForOpenConnections(atMost: 0)
            gate.open()
            #expect(try await task.value == 1)
        }
    }

    /// The last reference goes on the loop's own thread.
    @Test func aTaskOnTheLoopMayDropItsTransport() async throws {
        let server = try TestServer()
        let url = server.url("/get")
        for _ in 0..<20 {
            let task = {
                let transport = CurlTransport()
                return Task(executorPreference: transport.taskExecutor) {
                    try await transport.fetch(request(url)).status
                }
            }()
            #expect(try await task.value == 200)
        }
        try await server.waitForOpenConnections(atMost: 0)
    }
}
