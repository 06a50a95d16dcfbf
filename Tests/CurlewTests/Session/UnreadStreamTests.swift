import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew
@testable import CurlewTesting

/// Draining with streams of which only the head was requested. Their bodies exceed what a stream holds unread.
@Suite("Draining and unread streams", .timeLimit(.minutes(4)))
struct UnreadStreamTests {
    private static let pieces = [Data](repeating: Data(count: 1_200_000), count: 3)

    private static func drain(_ session: Session) -> Watched<Bool> {
        let isDrained = Watched(false)
        Task {
            await session.drain()
            isDrained.change { $0 = true }
        }
        return isDrained
    }

    @Test("draining ends a stream of which only the head was read, and a later reader gets sessionClosed")
    func headGiven() async throws {
        let transport = MockTransport { _ in .chunks(Self.pieces) }
        let session = Session(transport: transport)
        let request = session.streamRequest("https://example.org/")
        defer { request.cancel() }
        #expect(try await request.head().status == 200)
        let isDrained = Self.drain(session)
        try await eventually { isDrained.value }
        #expect(transport.runningCount == 0)
        let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
        #expect(error?.code == .sessionClosed)
    }

    @Test("draining delivers a head that is being awaited before it ends the stream")
    func headAwaited() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .chunks(Self.pieces)
        }
        let session = Session(transport: transport)
        let request = session.streamRequest("https://example.org/")
        defer { request.cancel() }
        async let head = request.head()
        try await gate.waitForArrivals(count: 1)
        let isDrained = Self.drain(session)
        try await eventually { request.reading.withLock { $0.endsUnread } }
        gate.open()
        #expect(try await head.status == 200)
        try await eventually { isDrained.value }
        #expect(transport.runningCount == 0)
    }

    @Test("draining waits for a stream that is being read, to the end of its body")
    func beingRead() async throws {
        let session = Session(transport: MockTransport { _ in .chunks(Self.pieces) })
        let request = session.streamRequest("https://example.org/")
        defer { request.cancel() }
        _ = try await request.head()
        var chunks = request.chunks.makeAsyncIterator()
        var count = try await chunks.next()?.count ?? 0
        let isDrained = Self.drain(session)
        try await eventually { request.reading.withLock { $0.endsUnread } }
        while let chunk = try await chunks.next() { count += chunk.count }
        #expect(count == 3_600_000)
        try await eventually { isDrained.value }
    }
}
