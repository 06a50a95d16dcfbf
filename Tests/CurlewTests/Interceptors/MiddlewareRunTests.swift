import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("One exchange through middleware", .timeLimit(.minutes(4)))
struct MiddlewareRunTests {
    let session = Session(transport: MockTransport())

    private func perform(
        _ sent: TransferRequest,
        through middleware: any RequestMiddleware,
        over base: any Transport,
        to sink: any TransferSink = Sink()
    ) async throws(CurlewError) -> TransferOutcome {
        let request = session.request(sent.url)
        let run = MiddlewareRun(sent, of: request, through: [middleware], over: base, to: sink, .unlimited)
        return try await run.outcome()
    }

    private final class Sink: TransferSink {
        let calls = Lock<[String]>([])

        func willStart(_ control: any TransferControl) { calls.withLock { $0.append("start") } }
        func didReceive(informational head: ResponseHead) { calls.withLock { $0.append("\(head.status)") } }
        func didReceive(head: ResponseHead) -> Disposition {
            calls.withLock { $0.append("\(head.status)") }
            return .proceed
        }
        func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
            calls.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            return .proceed
        }
    }

    @Test(
        "1xx heads, trailers and metrics of the transport pass through middleware",
        arguments: [TransferPurpose.memory, .stream])
    func transport(_ purpose: TransferPurpose) async throws {
        let mock = MockTransport { _ in
            .text("end").changed {
                $0.trailers = ["X-Sum": "1"]
                $0.interim = [ResponseHead(status: 103)]
            }
        }
        let url = try "https://example.com/".asURL()
        var options = TransferOptions(maximumBodySize: purpose == .memory ? 100 : nil)
        options.purpose = purpose
        let sent = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: url, options: options)
        let sink = Sink()
        let outcome = try await perform(sent, through: Wrap.passing, over: mock, to: sink)
        #expect(sink.calls.withLock { $0 } == ["start", "103", "200", "end"])
        #expect(outcome.trailers["X-Sum"] == "1")
        #expect(outcome.metrics.bytesReceived == 3)
        #expect(mock.runningCount == 0)
    }

    /// A transport whose first exchange takes a while to end after it was cancelled.
    private final class LateTransport: Transport {
        let count = Lock(0)

        func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                try? await Task.sleep(for: .seconds(3600))
                for _ in 0..<1000 { await Task.yield() }
                throw .cancelled
            }
            let head = ResponseHead(status: 200)
            _ = sink.didReceive(head: head)
            let now = Date()
            return TransferOutcome(head: head, metrics: TransferMetrics(queued: now, ended: now))
        }
    }

    private final class EmptyBody: BodyStream {
        var isReplayable: Bool { true }
        func open(waker: any BodyWaker) {}
        func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
        func rewind() -> Bool { true }
        func close() {}
    }

    @Test func `a streamed body can be sent again when a call of next was cancelled`() async throws {
        let late = LateTransport()
        let hurrying = Wrap { request, next in
            let call = Task { try await next(request) }
            try await eventually { late.count.withLock { $0 } > 0 }
            call.cancel()
            await #expect(throws: CurlewError.self) { _ = try await call.value }
            return try await next(request)
        }
        let url = try "https://example.com/".asURL()
        var options = TransferOptions(maximumBodySize: 100)
        options.purpose = .memory
        let sent = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: url, method: .post, body: .stream(EmptyBody()),
            options: options)
        let outcome = try await perform(sent, through: hurrying, over: late)
        #expect(outcome.head.status == 200)
        #expect(late.count.withLock { $0 } == 2)
    }

    private struct Weak {
        weak var object: AnyObject?
    }

    @Test func `a reply that was dropped leaves nothing behind`() async throws {
        let polling = Wrap { request, next in
            let outcome = Weak(object: try await next(request).source?.outcome)
            try await eventually { outcome.object == nil }
            return try await next(request)
        }
        let url = try "https://example.com/".asURL()
        let sent = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: url, options: TransferOptions(maximumBodySize: 100))
        let outcome = try await perform(sent, through: polling, over: MockTransport { _ in .text("end") })
        #expect(outcome.metrics.bytesReceived == 3)
    }

    @Test func `the metrics of another exchange's reply are not this one's`() async throws {
        let keeping = Wrap.keeping()
        let url = try "https://example.com/".asURL()
        let sent = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: url, options: TransferOptions(maximumBodySize: 100))
        var counts: [Int64] = []
        for _ in 0..<2 {
            let mock = MockTransport { _ in .text("end") }
            counts.append(try await perform(sent, through: keeping, over: mock).metrics.bytesReceived)
        }
        #expect(counts == [3, 0])
    }
}
