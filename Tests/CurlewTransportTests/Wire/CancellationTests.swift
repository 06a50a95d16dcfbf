import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Cancellation", .timeLimit(.minutes(1)), .serialized)
struct CancellationTests {
    @Test func endsAnExchangeThatWaitsForItsResponse() async throws {
        try await withTransport { transport, server in
            server.script("/never", .hanging)
            let url = server.url("/never")
            let task = Task { await transport.failure(request(url)) }
            try await server.waitForRequests(count: 1)
            let start = ContinuousClock.now
            task.cancel()
            let error = await task.value
            #expect(error.code == .cancelled)
            #expect(error.phase == .waiting)
            #expect(ContinuousClock.now - start < .milliseconds(50))
        }
    }

    @Test func beforeTheStartSendsNothing() async throws {
        try await withTransport { transport, server in
            let url = server.url("/get")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await transport.failure(request(url))
            }
            #expect(await task.value.code == .cancelled)
            #expect(server.connectionCount == 0)
        }
    }
}
