#if DEBUG
import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

/// What a request that asks for nothing pays for being usable from every thread.
///
/// Alone, because a monitor of the whole process adds to it, and other tests have one.
@Suite("The locks of a plain request", .timeLimit(.minutes(1)))
struct RequestLockCountProcessWideTests {
    @Test func aPlainRequestTakesItsOwnLockSevenTimes() async throws {
        let request = Session(transport: InstantTransport()).request("https://example.org/small")
        _ = try await request.data()
        // Each time for something that another thread can see: Docs/Architecture.md has the list.
        #expect(request.record.acquisitions == 7)
    }
}

/// Counts what the whole process takes.
@Suite("All locks of a plain request", .timeLimit(.minutes(1)))
struct LockCountProcessWideTests {
    @Test func aPlainRequestTakesItsOwnLockAndTheRegistrys() async throws {
        // Its own seven, joining and leaving the registry.
        #expect(try await fewest(Session(transport: InstantTransport())) == 9)
    }

    @Test func aCacheThatHasNothingForItTakesFiveMore() async throws {
        let configuration = SessionConfiguration { $0.cache = ResponseCache() }
        // What has landed, the store, joining and landing the flight, the statistics: a flight has no lock of its own.
        #expect(try await fewest(Session(configuration: configuration, transport: InstantTransport())) == 14)
    }

    private func fewest(_ session: Session) async throws -> UInt64 {
        var fewest = UInt64.max
        // What other threads have left to do adds to some of the rounds.
        for _ in 0..<20 {
            let before = LockCount.total
            _ = try await session.request("https://example.org/small").data()
            fewest = min(fewest, LockCount.total - before)
        }
        return fewest
    }
}

/// Answers at once, and takes no lock itself.
private struct InstantTransport: Transport {
    private final class Control: TransferControl {
        func resumeReceiving() {}
        func suspend() {}
        func resume() {}
        func cancel(with error: CurlewError) {}
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        let head = ResponseHead(status: 200)
        sink.willStart(Control())
        _ = sink.didReceive(head: head)
        _ = Data("x".utf8).withUnsafeBytes { sink.didReceive(body: $0) }
        return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
    }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }
}
#endif
