import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Engines that are not shut down: their owners release them while transfers run.
@Suite("Dropped engines", .serialized, .timeLimit(.minutes(4)))
struct DroppedEngineProcessWideTests {
    /// Owns an engine without a transport, whose `perform` would keep the engine alive.
    private final class Owner: Sendable {
        private let engine: Lock<TransferEngine?>
        private let loop: EngineLoop

        init() throws {
            var configuration = TransportConfiguration()
            configuration.proxy = .none
            let settings = try EngineSettings(configuration, .current(.ofLibcurl), alternatives: nil)
            let engine = try #require(TransferEngine(settings, published: Lock(TransportStatistics())))
            loop = engine.loop
            self.engine = Lock(engine)
        }

        func letGo() {
            let last = engine.withLock { engine in
                defer { engine = nil }
                return engine
            }
            _ = last
        }

        func failure(_ request: TransferRequest, _ sink: CollectingSink) async -> CurlewError? {
            guard
                let plan = try? RequestPlanner(TransportConfiguration(), .ofLibcurl).plan(request, bodyLength: nil)
            else { return nil }
            let transfer = ActiveTransfer(
                request: request, plan: plan, sink: sink, upload: nil, loop: loop)
            await withUnsafeContinuation { transfer.start(resuming: $0) }
            do throws(CurlewError) {
                _ = try transfer.outcome()
                return nil
            } catch {
                return error
            }
        }
    }

    /// The loop threads of this process, recognized by their name.
    private static let loops = LeakCheck.Counter("loop threads") {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.count {
            (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "curlew-loop\n"
        }
    }

    private func leavingNothing(_ body: (TestServer) async throws -> Void) async throws {
        let server = try TestServer()
        _ = try await CurlTransport().fetch(request(server.url("/get")))
        try await server.waitForOpenConnections(atMost: 0)
        let check = LeakCheck(.fileDescriptors, Self.loops)
        try await body(server)
        try await server.waitForOpenConnections(atMost: 0)
        try await check.wait(timeout: .seconds(10))
        server.stop()
    }

    @Test func droppedTransportFailsItsTransfers() async throws {
        try await leavingNothing { server in
            let owner = try Owner()
            server.script("/never", Array(repeating: .hanging, count: 5))
            let url = server.url("/never")
            let before = server.requestCount
            let tasks = (0..<5).map { _ in Task { await owner.failure(request(url), CollectingSink()) } }
            try await server.waitForRequests(count: before + 5)
            owner.letGo()
            for task in tasks {
                let error = await task.value
                #expect(error?.code == .sessionClosed)
                #expect(error?.url == url)
            }
            let late = await owner.failure(request(url), CollectingSink())
            #expect(late?.code == .sessionClosed)
        }
    }

    @Test(arguments: [CollectingSink.Event.started, .head, .body])
    func transportMayBeDroppedInItsOwnCallback(at event: CollectingSink.Event) async throws {
        try await leavingNothing { server in
            let owner = try Owner()
            let sink = CollectingSink()
            sink.observe { if $0 == event { owner.letGo() } }
            let url = server.url("/bytes/5000000")
            let error = await owner.failure(request(url), sink)
            #expect(error?.code == .sessionClosed)
        }
    }

    /// The loop releases the sink, and with it the last reference to the transport, on its own thread.
    @Test func aSinkMayHoldTheLastReferenceToItsTransport() async throws {
        try await leavingNothing { server in
            let sink = CollectingSink()
            let transport = Lock<CurlTransport?>(CurlTransport())
            sink.observe { _ in transport.withLock { $0 = nil } }
            let answer = try await transport.withLock { $0 }?.fetch(request(server.url("/bytes/1000")), sink)
            #expect(answer?.status == 200)
        }
    }

    @Test func transportDroppedInMidTransferFailsIt() async throws {
        try await leavingNothing { server in
            let transport = Lock<CurlTransport?>(CurlTransport())
            server.script("/never", Array(repeating: .hanging, count: 5))
            let url = server.url("/never")
            let before = server.requestCount
            let tasks = (0..<5).map { _ in
                Task { () -> CurlewError? in
                    do throws(CurlewError) {
                        // `perform` releases its reference, because the lock holds another one.
                        _ = try await transport.withLock { $0 }?.perform(request(url), sink: CollectingSink())
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            try await server.waitForRequests(count: before + 5)
            transport.withLock { $0 = nil }
            for task in tasks {
                let error = await task.value
                #expect(error?.code == .sessionClosed)
                #expect(error?.phase == .lifecycle)
                #expect(error?.url == url)
            }
        }
    }

    /// A transport that is shut down has neither a thread nor descriptors.
    @Test func shutDownTransportHasNoThreadOrDescriptor() async throws {
        let held = Lock<[CurlTransport]>([])
        try await leavingNothing { server in
            for _ in 0..<3 {
                let transport = CurlTransport()
                _ = try await transport.fetch(request(server.url("/get")))
                held.withLock { $0.append(transport) }
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { await transport.shutdown() } }
                    for _ in 0..<4 {
                        group.addTask { _ = try? await transport.fetch(request(server.url("/get"))) }
                    }
                }
                await transport.shutdown()
                let late = await transport.failure(request(server.url("/get")), CollectingSink())
                #expect(late.code == .sessionClosed)
            }
        }
        #expect(held.withLock { $0.count } == 3)
    }

    @Test func transportRetainedByExchangeCompletesIt() async throws {
        try await leavingNothing { server in
            let outcome = try await CurlTransport().perform(request(server.url("/get")), sink: CollectingSink())
            #expect(outcome.head.status == 200)
        }
    }

    /// The task's reference keeps the transport until its exchange has ended.
    @Test func transportRetainedByCallerCompletesTransfers() async throws {
        try await leavingNothing { server in
            weak var left: CurlTransport?
            let gate = Gate()
            server.script("/held", .text("late").stalling(until: gate, at: .beforeHead))
            let url = server.url("/held")
            let before = server.requestCount
            let task = {
                let transport = CurlTransport()
                left = transport
                return Task { try await transport.fetch(request(url)).text }
            }()
            try await server.waitForRequests(count: before + 1)
            #expect(left != nil)
            gate.open()
            let text = try await task.value
            #expect(text == "late")
        }
    }
}
