import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct SuspendTests {
    @Test func aThousandRoundsEndWell() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport)
        for _ in 0..<1000 {
            let request = session.request("https://example.org/")
            async let body = request.data()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { request.suspend() }
                group.addTask { request.resume() }
                group.addTask { request.suspend() }
            }
            request.resume()
            #expect(try await body == Data("x".utf8))
        }
        #expect(await session.activeRequests.isEmpty)
    }

    @Test func aRequestSuspendedWhileColdWaits() async throws {
        let transport = MockTransport { _ in .text("x") }
        let request = Session(transport: transport).request("https://example.org/")
        request.suspend()
        async let body = request.data()
        #expect(transport.requests.isEmpty)
        #expect(request.isSuspended)
        request.resume()
        #expect(try await body == Data("x".utf8))
    }

    @Test func theTotalClockGoesOnWhileARequestIsSuspended() async {
        let transport = MockTransport { _ in .text("x") }
        let request = Session(transport: transport).request("https://example.org/")
            .timeouts { $0.total = .milliseconds(20) }
        request.suspend()
        do throws(CurlewError) {
            _ = try await request.data()
            Issue.record("it was let go")
        } catch {
            #expect(error.code == .totalTimedOut)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func aSuspendedRequestCanBeCancelled() async throws {
        let request = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/")
        request.suspend()
        let task = Task { try await request.data() }
        task.cancel()
        await #expect(throws: CurlewError.self) { try await task.value }
    }
}
