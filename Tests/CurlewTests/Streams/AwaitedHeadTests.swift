import CurlewAlamofire
import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

/// The effect on a stream if a task that waits for its head is cancelled.
@Suite("Cancelled waits for a stream's head", .timeLimit(.minutes(4)))
struct AwaitedHeadTests {
    private let gate = Gate()
    private let transport: MockTransport
    private let request: DataStreamRequest

    init() {
        let gate = gate
        transport = MockTransport { _ in
            try await gate.wait()
            return .chunks([Data("body".utf8)])
        }
        request = Session(transport: transport).streamRequest("https://example.org/")
    }

    private func head() -> Task<Int, any Error> { Task { [request] in try await request.head().status } }

    /// Starts a task that waits for the head, and returns when `count` tasks wait.
    private func waitingForHead(count: Int) async throws -> Task<Int, any Error> {
        let task = head()
        try await eventually { request.reading.withLock { $0.headsAwaited } == count }
        return task
    }

    private func cancelled(_ task: Task<Int, any Error>) async {
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    private func body() -> Task<String, any Error> {
        Task { [request] in
            var body = Data()
            for try await chunk in request.chunks { body += chunk }
            return String(decoding: body, as: UTF8.self)
        }
    }

    @Test("cancelling the only wait for the head cancels the transfer")
    func alone() async throws {
        let only = try await waitingForHead(count: 1)
        try await gate.waitForArrivals(count: 1)
        await cancelled(only)
        #expect(request.isCancelled)
        try await eventually { transport.runningCount == 0 }
    }

    @Test(
        "cancelling one of two waits for the head affects neither the other nor the transfer", arguments: [true, false])
    func oneOfTwo(first: Bool) async throws {
        let tasks = [try await waitingForHead(count: 1), try await waitingForHead(count: 2)]
        try await gate.waitForArrivals(count: 1)
        await cancelled(tasks[first ? 0 : 1])
        #expect(!request.isCancelled)
        gate.open()
        #expect(try await tasks[first ? 1 : 0].value == 200)
        #expect(try await body().value == "body")
    }

    @Test("cancelling both of two waits for the head cancels the transfer")
    func lastOfTwo() async throws {
        let (first, second) = (try await waitingForHead(count: 1), try await waitingForHead(count: 2))
        try await gate.waitForArrivals(count: 1)
        await cancelled(first)
        await cancelled(second)
        #expect(request.isCancelled)
        try await eventually { transport.runningCount == 0 }
    }

    @Test("cancelling a wait for the head does not affect a reader of the body", arguments: [true, false])
    func besideAReader(readerIsFirst: Bool) async throws {
        var reader: Task<String, any Error>?
        if readerIsFirst {
            reader = body()
            try await gate.waitForArrivals(count: 1)
        }
        let waiting = try await waitingForHead(count: 1)
        let reading = reader ?? body()
        try await eventually { request.reading.withLock { $0.hasReader } }
        await cancelled(waiting)
        gate.open()
        #expect(try await reading.value == "body")
    }

    @Test("cancelling a wait for the head does not affect handlers", arguments: [true, false])
    func besideHandlers(handlerIsFirst: Bool) async throws {
        let seen = Recorded<String>()
        func handle() {
            request.responseStream(on: .global()) { stream in
                switch stream.event {
                case .stream(.success(let chunk)): seen.note(String(decoding: chunk, as: UTF8.self))
                case .complete(let completion): seen.note(completion.error == nil ? "end" : "error")
                }
            }
        }
        if handlerIsFirst { handle() }
        let waiting = try await waitingForHead(count: 1)
        if !handlerIsFirst { handle() }
        await cancelled(waiting)
        gate.open()
        try await eventually { seen.all.count == 2 }
        #expect(seen.all == ["body", "end"])
    }

    @Test("cancelling a wait for the head does not cancel a request that was resumed")
    func resumed() async throws {
        request.resume()
        try await gate.waitForArrivals(count: 1)
        await cancelled(try await waitingForHead(count: 1))
        #expect(!request.isCancelled)
        gate.open()
        #expect(try await body().value == "body")
    }
}
