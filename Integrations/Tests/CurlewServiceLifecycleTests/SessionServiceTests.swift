import Curlew
import CurlewServiceLifecycle
import CurlewTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

struct SessionServiceTests {
    @Test func runningRequestsMayEndAndNewOnesAreRefused() async throws {
        let server = try await TestServer.start()
        let gate = Gate()
        server.route("/slow") { _ in .text("fine").stalling(until: gate, at: .beforeHead) }
        let session = Session()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: String?.self) { group in
                group.addTask {
                    try await SessionService(session).run()
                    return nil
                }
                group.addTask { try await session.request(server.url("/slow")).string() }
                _ = try await server.waitForRequests(count: 1)
                trigger.triggerGracefulShutdown()
                await session.refusesRequests(to: server)
                gate.open()
                var results: [String?] = []
                for try await result in group { results.append(result) }
                #expect(results.contains("fine"))
            }
        }
        #expect(await session.activeRequests.isEmpty)
    }

    @Test func requestsAreCancelledAfterTheLimit() async throws {
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let session = Session()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: CurlewError.Code?.self) { group in
                group.addTask {
                    try await SessionService(session, drainLimit: .milliseconds(1)).run()
                    return nil
                }
                group.addTask { await session.request(server.url("/hang")).response().error?.code }
                _ = try await server.waitForRequests(count: 1)
                trigger.triggerGracefulShutdown()
                var codes: [CurlewError.Code] = []
                for try await case let code? in group { codes.append(code) }
                #expect(codes == [.cancelled] || codes == [.sessionClosed])
            }
        }
    }

    @Test func cancellingTheServiceCancelsRequestsAtOnce() async throws {
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let session = Session()
        let service = Task { try await SessionService(session, drainLimit: .seconds(3600)).run() }
        let request = Task { await session.request(server.url("/hang")).response().error?.code }
        _ = try await server.waitForRequests(count: 1)
        service.cancel()
        await #expect(throws: CancellationError.self) { try await service.value }
        #expect(await request.value != nil)
    }

    @Test func cancellingTheServiceEndsTheDrain() async throws {
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let session = Session()
        await testGracefulShutdown { trigger in
            let service = Task { try await SessionService(session, drainLimit: .seconds(3600)).run() }
            let request = Task { await session.request(server.url("/hang")).response().error?.code }
            _ = try? await server.waitForRequests(count: 1)
            trigger.triggerGracefulShutdown()
            await session.refusesRequests(to: server)
            service.cancel()
            await #expect(throws: CancellationError.self) { try await service.value }
            #expect(await request.value != nil)
        }
    }
}

extension Session {
    /// Returns as soon as the session refuses new requests.
    fileprivate nonisolated func refusesRequests(to server: TestServer) async {
        var error: CurlewError?
        while error == nil { error = await request(server.url("/get")).response().error }
        #expect(error?.code == .sessionClosed)
    }
}
