import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("The life of a body stream", .timeLimit(.minutes(4)))
struct BodyLifetimeTests {
    /// The stream retains its waker, which must not retain the stream after the exchange.
    @Test func endsWithItsExchange() async throws {
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
            #expect(await eventually { left == nil })
        }
    }

    @Test func isNotSentWhereItsOpeningCancels() async throws {
        try await withTransport { transport, server in
            let sink = CollectingSink()
            let body = CancellingBody(sink)
            let upload = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
            let error = await transport.failure(upload, sink)
            #expect(error.code == .cancelled)
            #expect(transport.statistics.connectionsMade == 0)
            #expect(body.closes.withLock { $0 } == 1)
        }
    }
}

/// A body whose `open` cancels the transfer.
private final class CancellingBody: BodyStream {
    let isReplayable = false
    let closes = Lock(0)
    private let sink: CollectingSink

    init(_ sink: CollectingSink) { self.sink = sink }

    func open(waker: any BodyWaker) { sink.control?.cancel(with: CurlewError(.cancelled, phase: .lifecycle)) }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
    func rewind() -> Bool { false }
    func close() { closes.withLock { $0 += 1 } }
}
