import Curlew
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// Interceptors and decoders run beside the actor that awaits their request.
@Suite(.timeLimit(.minutes(1)))
struct CallersActorTests {
    @Test func `an awaited request leaves its actor to others`() async throws {
        let caller = Caller()
        #expect(try await caller.awaits(interceptor: caller.adapter) == [1])
        #expect(caller.steps.all == ["adapt elsewhere", "decode elsewhere"])
    }

    @Test func `so does one without an interceptor`() async throws {
        let caller = Caller()
        #expect(try await caller.awaits(interceptor: nil) == [1])
        #expect(caller.steps.all == ["decode elsewhere"])
    }

    @Test func `the actor is told apart`() async throws {
        let caller = Caller()
        await caller.notes()
        #expect(caller.steps.all == ["own code on the actor"])
    }
}

/// An actor whose code runs on a separate queue.
private actor Caller {
    private let executor = QueueExecutor()
    nonisolated let steps = Recorded<String>()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func awaits(interceptor: (any RequestInterceptor)?) async throws -> [Int] {
        let session = Session(transport: MockTransport { _ in .json([1]) }, interceptor: interceptor)
        return try await session.request("https://a.example/").decode(decoder: NotingDecoder(note: note))
    }

    func notes() { note("own code") }

    nonisolated var adapter: Adapter {
        Adapter { [note] request, _ in
            note("adapt")
            return request
        }
    }

    private nonisolated var note: @Sendable (String) -> Void {
        { [steps, executor] in steps.note("\($0) \(executor.isCurrent ? "on the actor" : "elsewhere")") }
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "caller")
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    /// Whether the calling code runs on the queue.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private struct NotingDecoder: DataDecoder {
    let note: @Sendable (String) -> Void

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        note("decode")
        return try JSONDecoder().decode(type, from: data)
    }
}
