import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("MockTransport", .timeLimit(.minutes(4)))
struct MockTransportTests {
    @Test func mockDeliversEventsInOrder() async throws {
        let transport = MockTransport { _ in
            .chunks([Data("ab".utf8), Data(), Data("c".utf8)], status: 201).changed {
                $0.interim = [ResponseHead(status: 103)]
                $0.trailers = ["T": "v"]
            }
        }
        let sink = RecordingSink()
        let outcome = try await transport.perform(.test(method: .post, body: .data(Data("xyz".utf8))), sink: sink)
        #expect(outcome.head.status == 201)
        #expect(outcome.trailers["T"] == "v")
        #expect(outcome.metrics.decodedBytesReceived == 3)
        #expect(outcome.metrics.attempt == 2)
        #expect(
            sink.events
                == [.started, .sent(3, of: 3), .informational(103), .head(201), .body("ab"), .body("c")]
        )
        #expect(transport.requests.first?.bodyText == "xyz")
        #expect(transport.runningCount == 0)
    }

    @Test func answersFromRoutesThenQueueThenClosure() async throws {
        let transport = MockTransport { _ in .text("closure") }
        transport.enqueue(.text("first"), .text("second"))
        transport.route("/user/{id}", method: .get) { .text("user \($0.parameters["id"] ?? "")") }
        func get(_ path: String, _ method: HTTPMethod = .get) async throws -> String {
            let sink = RecordingSink()
            _ = try await transport.perform(.test(path, method: method), sink: sink)
            return sink.taken
        }
        #expect(try await get("/user/a%2Fb") == "user a/b")
        #expect(try await get("/user/1", .put) == "first")
        #expect(try await get("/") == "second")
        #expect(try await get("/") == "closure")
    }

    @Test func unansweredRequestIsNamedInTheError() async throws {
        let error = await #expect(throws: CurlewError.self) {
            try await MockTransport().perform(.test("/nowhere"), sink: RecordingSink())
        }
        #expect(error?.code == .unsupported)
        #expect(error?.reason.contains("GET /nowhere") == true)
        #expect(error?.attempt == 2)
    }

    @Test func pausedBytesAreDeliveredAgain() async throws {
        let transport = MockTransport { _ in .chunks([Data("ab".utf8), Data("cd".utf8)]) }
        let sink = RecordingSink([.pause, .proceed, .pause, .pause])
        async let outcome = transport.perform(.test(), sink: sink)
        for count in [2, 4, 5] {
            try await eventually { sink.events.count == count }
            // While the transfer is paused, no further event is delivered.
            #expect(sink.events.count == count)
            sink.control?.resumeReceiving()
        }
        _ = try await outcome
        #expect(sink.taken == "abcd")
        #expect(sink.events == [.started, .head(200), .body("ab"), .body("cd"), .body("cd"), .body("cd")])
    }

    @Test func suspendedTransferDeliversNothingUntilResumed() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("late")
        }
        let sink = RecordingSink()
        async let outcome = transport.perform(.test(), sink: sink)
        try await gate.waitForArrivals(count: 1)
        sink.control?.suspend()
        sink.control?.resumeReceiving()
        gate.open()
        try await eventually { gate.waiterCount == 0 }
        // Long enough for a delivery that does not wait for the resumption.
        for _ in 0..<1000 { await Task.yield() }
        #expect(sink.events == [.started])
        sink.control?.resume()
        _ = try await outcome
        #expect(sink.taken == "late")
    }

    enum Stage: CaseIterable { case inClosure, beforeHead, hanging, inBody, whilePaused, whileSuspended, pulling }

    /// Returns a transport and a request that wait at `stage`, and a function that tells whether they have reached it.
    private func atRest(
        _ stage: Stage,
        _ sink: RecordingSink
    ) -> (MockTransport, TransferRequest, @Sendable () -> Bool) {
        let gate = Gate()
        let response: MockResponse =
            switch stage {
            case .beforeHead: .text("x").waiting(for: gate)
            case .hanging: .hanging
            case .inBody: MockResponse(body: [.bytes(Data("a".utf8)), .wait(gate)])
            case .inClosure, .whilePaused, .whileSuspended, .pulling: .text("x")
            }
        let transport = MockTransport { _ in
            if stage == .inClosure { try await gate.wait() }
            if stage == .whileSuspended { sink.control?.suspend() }
            return response
        }
        let request = TransferRequest.test(body: stage == .pulling ? .stream(SilentBody()) : .none)
        return (
            transport, request,
            {
                switch stage {
                case .inBody: sink.events.last == .body("a")
                case .whilePaused: sink.events.last == .head(200)
                case .inClosure, .beforeHead: gate.waiterCount == 1
                case .pulling: sink.events == [.started]
                case .hanging, .whileSuspended: transport.requests.count == 1
                }
            }
        )
    }

    @Test(arguments: Stage.allCases)
    func cancellingTheTaskEndsTheExchange(_ stage: Stage) async throws {
        let sink = RecordingSink(stage == .whilePaused ? [.pause] : [])
        let (transport, request, isAtRest) = atRest(stage, sink)
        let task = Task { await transport.result(of: request, sink: sink) }
        try await eventually(isAtRest)
        task.cancel()
        let error = await task.value.error
        #expect(error?.code == .cancelled)
        #expect(error?.url?.host() == "mock.test")
        #expect(transport.runningCount == 0)
    }

    @Test(arguments: Stage.allCases)
    func cancellingTheControlEndsTheExchange(_ stage: Stage) async throws {
        let sink = RecordingSink(stage == .whilePaused ? [.pause] : [])
        let (transport, request, isAtRest) = atRest(stage, sink)
        let task = Task { await transport.result(of: request, sink: sink) }
        try await eventually(isAtRest)
        sink.control?.cancel(with: CurlewError(.idleTimedOut, phase: .receive))
        sink.control?.cancel(with: CurlewError(.cancelled, phase: .receive))
        #expect(await task.value.error?.code == .idleTimedOut)
    }

    @Test func abortBySinkEndsTheExchange() async throws {
        let transport = MockTransport { _ in .text("abc") }
        let sink = RecordingSink([.proceed, .abort(CurlewError(.diskFull, phase: .file))])
        let error = await #expect(throws: CurlewError.self) { try await transport.perform(.test(), sink: sink) }
        #expect(error?.code == .diskFull)
    }

    @Test(arguments: [(2, true), (3, false)])
    func mockEnforcesMaximumBodySize(limit: Int, isAbove: Bool) async throws {
        let transport = MockTransport { _ in .chunks(["a", "b", "c"].map { Data($0.utf8) }) }
        let sink = RecordingSink()
        let result = await transport.result(of: .test(maximumBodySize: limit), sink: sink)
        #expect(result.error?.code == (isAbove ? .limitExceeded : nil))
        #expect(sink.taken == (isAbove ? "ab" : "abc"))
    }

    @Test func bodyIsReadInPieces() async throws {
        let transport = MockTransport { _ in .status(200) }
        let body = PiecewiseBody(["ab", nil, "c", nil, nil, "def"])
        let sink = RecordingSink()
        _ = try await transport.perform(.test(method: .put, body: .stream(body, length: 6)), sink: sink)
        #expect(transport.requests.first?.bodyText == "abcdef")
        #expect(sink.events == [.started, .sent(2, of: 6), .sent(3, of: 6), .sent(6, of: 6), .head(200)])
        #expect(body.isClosed)
    }

    @Test func failsAfterItsShutdown() async throws {
        let transport = MockTransport { _ in .hanging }
        let running = Task { await transport.result(of: .test(), sink: RecordingSink()) }
        try await transport.waitForRequests(count: 1)
        await transport.shutdown()
        for result in [
            await running.value, await transport.result(of: .test(), sink: RecordingSink()),
        ] {
            #expect(result.error?.code == .sessionClosed)
        }
    }

    @Test func bodilessResponsesHaveNoBody() async throws {
        for (method, status) in [(HTTPMethod.head, 200), (.get, 204), (.get, 304)] {
            let transport = MockTransport { _ in .text("abc", status: status) }
            let sink = RecordingSink()
            _ = try await transport.perform(.test(method: method), sink: sink)
            #expect(sink.events == [.started, .head(status)])
        }
    }
}
