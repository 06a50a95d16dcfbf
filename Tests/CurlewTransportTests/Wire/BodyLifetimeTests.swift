import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Lifetime of body streams", .timeLimit(.minutes(4)))
struct BodyLifetimeTests {
    /// The stream retains its waker, which must not retain the stream after the exchange.
    @Test func bodyStreamIsReleasedWithItsExchange() async throws {
        try await withTransport { transport, server in
            weak var left: ScriptedBody?
            func exchange() async throws {
                let body = ScriptedBody([.bytes("hello")])
                left = body
                let upload = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
                #expect(try await transport.fetch(upload).status == 200)
                #expect(body.closes == 1)
            }
            try await exchange()
            try await eventually { left == nil }
        }
    }

    @Test func requestCancelledByOpeningItsBodyIsNotSent() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            let body = ControllingBody(sink) { $0.cancel(with: CurlewError(.cancelled, phase: .lifecycle)) }
            let upload = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
            let error = await transport.failure(upload, sink)
            #expect(error.code == .cancelled)
            #expect(transport.statistics.connectionsMade == 0)
            #expect(body.closes.withLock { $0 } == 1)
        }
    }

    @Test func requestSuspendedByOpeningItsBodyIsNotSent() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            let body = ControllingBody(sink) { $0.suspend() }
            let upload = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
            async let outcome = transport.perform(upload, sink: sink)
            try await eventually { body.opens.withLock { $0 } == 1 }
            // This response shows that the turn in which the body was opened has ended.
            let other = try await transport.fetch(request(server.url("/get")))
            #expect(other.status == 200)
            #expect(transport.statistics.connectionsMade == 1)
            sink.control?.resume()
            let response = try await outcome.head
            #expect(response.status == 200)
            #expect(body.opens.withLock { $0 } == 1)
        }
    }
}

/// A body whose `open` controls the transfer.
private final class ControllingBody: BodyStream {
    let isReplayable = false
    let opens = Lock(0)
    let closes = Lock(0)
    private let sink: CollectingSink
    private let act: @Sendable (any TransferControl) -> Void

    init(_ sink: CollectingSink, _ act: @escaping @Sendable (any TransferControl) -> Void) {
        (self.sink, self.act) = (sink, act)
    }

    func open(waker: any BodyWaker) {
        opens.withLock { $0 += 1 }
        sink.control.map(act)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
    func rewind() -> Bool { false }
    func close() { closes.withLock { $0 += 1 } }
}
