import Curlew
import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct SessionLifecycleTests {
    @Test func awaitingTheBodyRunsTheRequest() async throws {
        let transport = MockTransport { _ in .text("hello") }
        let session = Session(transport: transport)
        let request = session.request("https://example.org/")
        #expect(request.isInitialized)
        let body = try await request.data()
        #expect(body == Data("hello".utf8))
        #expect(request.isFinished)
        #expect(await session.activeRequests.isEmpty)
        #expect(transport.requests.count == 1)
    }

    @Test func unretainedSessionCompletesItsRequest() async throws {
        let transport = MockTransport { _ in .text("x") }
        let text = try await Session(transport: transport).request("https://example.org/").string()
        #expect(text == "x")
    }

    @Test func cancellingTheWithSessionTaskCancelsItsRequests() async throws {
        let transport = MockTransport { _ in .hanging }
        let task = Task {
            await withSession(transport: transport) { session in
                session.request("https://example.org/").response { _ in }
            }
        }
        try await transport.waitForRequests(count: 1)
        task.cancel()
        let request = await task.value
        #expect(request.isCancelled)
        #expect(transport.runningCount == 0)
    }

    /// The handle's task may reach the session late, but its request was started before draining began.
    @Test func drainingCompletesRequestsStartedBefore() async throws {
        for _ in 0..<50 {
            let session = Session(transport: MockTransport { _ in .text("x") })
            let handle = session.request("https://example.org/").serializingString()
            async let first: Void = session.drain()
            async let second: Void = session.drain()
            _ = await (first, second)
            #expect(try await handle.value == "x")
            #expect(await session.activeRequests.isEmpty)
            await #expect(throws: CurlewError.self) { try await session.request("https://example.org/").data() }
        }
    }

    /// Several threads make requests of both kinds while the session begins to drain. Each request is completed or
    /// refused, and none is left when draining has ended.
    @Test func requestsDuringDrainingAreCompletedOrRefused() async throws {
        for _ in 0..<50 {
            let transport = MockTransport { _ in .text("x") }
            let session = Session(transport: transport)
            let taken = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var taken = 0
                        while true {
                            let request = session.request("https://example.org/")
                            let handle = session.request("https://example.org/").serializingString()
                            let awaited = await request.response().error
                            let handled = await handle.response.error
                            for error in [awaited, handled].compactMap(\.self) { #expect(error.code == .sessionClosed) }
                            taken += (awaited == nil ? 1 : 0) + (handled == nil ? 1 : 0)
                            if awaited != nil { return taken }
                        }
                    }
                }
                try await transport.waitForRequests(count: 8)
                await session.drain()
                #expect(await session.activeRequests.isEmpty)
                #expect(transport.runningCount == 0)
                return try await group.reduce(0, +)
            }
            #expect(taken == transport.requests.count)
        }
    }

    @Test func cancelAllCancelsRequestsStartedBefore() async {
        for _ in 0..<50 {
            let transport = MockTransport { _ in .hanging }
            let session = Session(transport: transport)
            let request = session.request("https://example.org/").response { _ in }
            #expect(await session.activeRequests == [request])
            await session.cancelAllRequests()
            #expect(request.isCancelled)
            #expect(transport.runningCount == 0)
            #expect(await session.activeRequests.isEmpty)
        }
    }

    @Test func invalidatingEndsRequestsStartedBefore() async {
        for _ in 0..<50 {
            let session = Session(transport: MockTransport { _ in .hanging })
            let handle = session.request("https://example.org/").serializingData()
            await session.invalidate()
            #expect(await handle.response.error?.code == .sessionClosed)
            #expect(await session.activeRequests.isEmpty)
        }
    }

    @Test func theRegistryKnowsRunningRequestsByTask() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("done")
        }
        let session = Session(transport: transport)
        let request = session.request("https://example.org/")
        async let body = request.data()
        try await transport.waitForRequests(count: 1)
        let task = try #require(request.task)
        #expect(await session[task] === request)
        #expect(await session.activeRequests == [request])
        gate.open()
        _ = try await body
        #expect(await session[task] == nil)
        #expect(request.task == nil)
        #expect(request.tasks == [task])
    }

    @Test func anInvalidatedSessionRefusesRequests() async {
        let session = Session(transport: MockTransport { _ in .text("x") })
        await session.invalidate()
        await #expect(throws: CurlewError.self) { try await session.request("https://example.org/").data() }
        let response = await session.request("https://example.org/").response()
        #expect(response.error?.code == .sessionClosed)
    }

    @Test func everyInvalidateCallReturnsAfterTransportShutdown() async throws {
        struct SlowToClose: Transport {
            let closing = Gate()
            let order: Recorded<String>

            func perform(
                _ request: TransferRequest, sink: any TransferSink
            ) async throws(CurlewError) -> TransferOutcome {
                throw CurlewError(.connectFailed, phase: .connect)
            }

            func shutdown() async {
                try? await closing.wait()
                order.note("shut down")
            }
        }
        struct Ending: Curlew.EventMonitor {
            let order: Recorded<String>

            func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
                order.note("told")
            }
        }
        let order = Recorded<String>()
        let transport = SlowToClose(order: order)
        let session = Session(transport: transport, eventMonitors: [Ending(order: order)])
        let first = Task { await session.invalidate() }
        try await transport.closing.waitForArrivals(count: 1)
        let second = Task {
            order.note("asked")
            await session.invalidate()
            order.note("returned")
        }
        try await eventually { order.all.contains("asked") }
        // Gives the second call enough turns to return, in case it waits for nothing.
        for _ in 0..<100 { _ = await session.activeRequests }
        transport.closing.open()
        await first.value
        await second.value
        #expect(order.all.filter { $0 != "told" } == ["asked", "shut down", "returned"])
        await session.invalidate()
        try await eventually { order.all.contains("told") }
        #expect(order.all.count { $0 == "told" || $0 == "shut down" } == 2)
    }

    @Test func cancellingTheDriverEndsTheRequest() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("never")
        }
        let session = Session(transport: transport)
        let request = session.request("https://example.org/")
        let task = Task { try await request.data() }
        try await transport.waitForRequests(count: 1)
        task.cancel()
        let result = await task.result
        #expect(throws: CurlewError.self) { try result.get() }
        #expect(request.isCancelled)
        #expect(request.error?.code == .cancelled)
        #expect(await session.activeRequests.isEmpty)
        gate.open()
    }

    @Test func aHundredAwaitersShareOneExchange() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("shared")
        }
        let session = Session(transport: transport)
        let request = session.request("https://example.org/")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await request.string() } }
            try await transport.waitForRequests(count: 1)
            gate.open()
            for try await text in group { #expect(text == "shared") }
        }
        #expect(transport.requests.count == 1)
    }
}
