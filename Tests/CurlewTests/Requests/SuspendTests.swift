import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct SuspendTests {
    @Test func concurrentSuspendAndResumeLoseNoRequest() async throws {
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

    @Test func requestSuspendedBeforeStartWaitsForResume() async throws {
        let transport = MockTransport { _ in .text("x") }
        let request = Session(transport: transport).request("https://example.org/")
        request.suspend()
        async let body = request.data()
        #expect(transport.requests.isEmpty)
        #expect(request.isSuspended)
        request.resume()
        #expect(try await body == Data("x".utf8))
    }

    @Test func totalTimeoutContinuesWhileSuspended() async {
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

    /// The exchange is created and waits. Monitors hear once of its creation, and of its start when the request is
    /// resumed.
    @Test func exchangeOfSuspendedRequestWaits() async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, eventMonitors: [monitor])
        let request = session.request("https://example.org/").suspend()
        async let body = request.data()
        // Wait until the driver waits. Before that, the events of the calling thread and of the driver have no order.
        try await eventually { request.record.withLock { $0.lifecycle.driver?.waiter != nil } }
        // Options that are set before the exchange is sent still count.
        request.authenticate(username: "ada", password: "secret")
        #expect(transport.requests.isEmpty)
        request.resume()
        #expect(try await body == Data("x".utf8))
        #expect(transport.requests.first?.transfer.options.authentication?.username == "ada")
        await session.drain()
        await monitor.queue.settled()
        #expect(
            monitor.events.all.prefix(7) == [
                "didSuspend", "didCreateInitial", "didCreate", "didCreateTask", "didSuspendTask", "didResume",
                "didResumeTask",
            ])
        #expect(monitor.events.all.filter { $0 == "didResumeTask" }.count == 1)
    }

    /// The options are read again between the wait and the start, so the proxy routing is called again.
    @Test func requestSuspendedBeforeItsExchangeWaitsAgain() async throws {
        let (monitor, waiting, routings) = (RecordingMonitor(), Recorded<Request>(), Recorded<URL>())
        let configuration = SessionConfiguration {
            $0.proxyRouting = { url in
                routings.note(url)
                if routings.all.count == 2 { waiting.all.first?.suspend() }
                return nil
            }
        }
        let session = Session(
            configuration: configuration, transport: MockTransport { _ in .text("x") }, eventMonitors: [monitor])
        let request = session.request("https://example.org/").suspend()
        waiting.note(request)
        async let body = request.data()
        try await eventually { request.task != nil }
        request.resume()
        try await eventually { routings.all.count >= 2 }
        let starts = { monitor.events.all.filter { $0 == "didResumeTask" }.count }
        try await eventually { starts() > 0 || request.record.withLock { $0.lifecycle.driver?.waiter != nil } }
        #expect(starts() == 0)
        request.resume()
        #expect(try await body == Data("x".utf8))
        await session.drain()
        await monitor.queue.settled()
        #expect(starts() == 1)
    }

    @Test func waitingExchangeEndsWhenRequestIsCancelled() async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, eventMonitors: [monitor])
        let request = session.request("https://example.org/").suspend()
        async let response = request.response()
        try await eventually { request.task != nil }
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        #expect(transport.requests.isEmpty)
        await session.drain()
        await monitor.queue.settled()
        for event in ["didCancelTask", "didGatherMetrics", "didCompleteTask", "didFinish"] {
            #expect(monitor.events.all.filter { $0 == event }.count == 1, "\(event)")
        }
        #expect(!monitor.events.all.contains("didResumeTask"))
    }

    @Test func redirectTargetWaitsWhileSuspended() async throws {
        let transport = MockTransport {
            $0.path == "/old" ? .status(302, headers: ["Location": "/new"]) : .text("x")
        }
        let request = Session(transport: transport).request("https://example.org/old")
        let suspending = request.redirect(
            using: Redirector(
                behavior: .modify { [weak request] _, next, _ in
                    request?.suspend()
                    return next
                }))
        async let body = suspending.data()
        try await eventually { request.tasks.count >= 2 }
        #expect(request.isSuspended && transport.requests.count == 1)
        request.resume()
        #expect(try await body == Data("x".utf8))
        #expect(transport.requests.count == 2)
    }
}
