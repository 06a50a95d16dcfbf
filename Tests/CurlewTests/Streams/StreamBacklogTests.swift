import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Unread elements of a sequence", .timeLimit(.minutes(4)))
struct StreamBacklogTests {
    private static let chunk = Data(repeating: 1, count: 16 * 1024)

    /// Returns a sequence and adds its handler to `handlers`.
    private static func sequence(
        _ handlers: Lock<[StreamHandler<Data>]>
    ) -> StreamOf<Data> {
        let backlog = StreamBacklog()
        return StreamOf(bufferingPolicy: .unbounded, backlog: backlog) { continuation in
            let handler = StreamHandler<Data>(
                prepare: { chunk in { continuation.yield(chunk) } }, delivery: .direct, backlog: backlog)
            handlers.withLock { $0.append(handler) }
        }
    }

    /// Offers chunks until the channel has asked for `pauses` pauses. Returns the number of bytes that it accepted.
    private static func offer(to channel: BodyChannel, pauses: Int, limit: Int = 64 << 20) async -> Int {
        var (taken, pauses) = (0, pauses)
        while pauses > 0, taken < limit {
            switch chunk.withUnsafeBytes({ channel.receive($0) }) {
            case .proceed: taken += chunk.count
            case .pause, .abort:
                pauses -= 1
                await Task.yield()
            }
        }
        return taken
    }

    @Test func `a reader that takes nothing stops the sender`() async {
        let (channel, handlers) = (BodyChannel(), Lock<[StreamHandler<Data>]>([]))
        let sequence = Self.sequence(handlers)
        let pump = Task { await StreamPump(channel: channel) { handlers.withLock { $0 } }.run() }
        #expect(await Self.offer(to: channel, pauses: 20_000) < 4 << 20)
        // A reader lets the transfer continue.
        let reader = Task { await sequence.reduce(into: 0) { $0 += $1.count } }
        let more = await Self.offer(to: channel, pauses: .max, limit: 8 << 20)
        #expect(more >= 8 << 20)
        channel.finish()
        await pump.value
        reader.cancel()
        #expect(await reader.value >= 8 << 20)
    }

    @Test func `a sequence without a reader stops no other`() async {
        let (channel, handlers) = (BodyChannel(), Lock<[StreamHandler<Data>]>([]))
        var unread: StreamOf<Data>? = Self.sequence(handlers)
        let pump = Task { await StreamPump(channel: channel) { handlers.withLock { $0 } }.run() }
        #expect(await Self.offer(to: channel, pauses: 2000) < 4 << 20)
        #expect(unread != nil)
        unread = nil
        #expect(await Self.offer(to: channel, pauses: .max, limit: 8 << 20) >= 8 << 20)
        channel.finish()
        await pump.value
    }

    @Test func `leaving a sequence lets the others go on`() async {
        let (channel, handlers) = (BodyChannel(), Lock<[StreamHandler<Data>]>([]))
        let (left, read) = (Self.sequence(handlers), Self.sequence(handlers))
        let pump = Task { await StreamPump(channel: channel) { handlers.withLock { $0 } }.run() }
        let reader = Task { await read.reduce(into: 0) { $0 += $1.count } }
        let leaver = Task { for await _ in left { break } }
        #expect(await Self.offer(to: channel, pauses: .max, limit: 8 << 20) >= 8 << 20)
        await leaver.value
        channel.finish()
        await pump.value
        reader.cancel()
        #expect(await reader.value > 0)
    }

    @Test func `a slow reader of a stream task gets everything`() async throws {
        let server = try TestServer()
        let request = Session().streamRequest(server.url("/bytes/3000000"))
        var size = 0
        for await stream in request.streamTask().streamingData() {
            size += stream.value?.count ?? 0
            await Task.yield()
        }
        #expect(size == 3_000_000)
    }
}
