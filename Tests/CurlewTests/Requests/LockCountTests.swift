#if DEBUG
import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

/// The locks that a plain request takes.
///
/// The suite runs alone, because a process-wide monitor, as other tests install it, takes locks too.
@Suite("The locks of a plain request", .timeLimit(.minutes(1)))
struct RequestLockCountProcessWideTests {
    @Test func plainRequestTakesTenLocksAndItsExchangeSeven() async throws {
        let request = Session(transport: InstantTransport()).request("https://example.org/small")
        _ = try await request.data()
        // Each acquisition guards something that another thread can see.
        #expect(request.record.acquisitions == 10)
        let exchange = try #require(request.record.withLock { $0.exchange })
        #expect(exchange.acquisitions == 7)
    }
}

/// Counts the locks that the whole process takes.
@Suite("All locks of a plain request", .timeLimit(.minutes(1)))
struct LockCountProcessWideTests {
    @Test func plainRequestTakesTwentyOneLocksAltogether() async throws {
        // The request's own ten, its exchange's seven, the delegate's two, joining the registry and leaving it.
        #expect(try await fewest(Session(transport: InstantTransport())) == 21)
    }

    @Test func cacheMissTakesFiveMoreLocks() async throws {
        let configuration = SessionConfiguration { $0.cache = ResponseCache() }
        // Reading what was stored, asking the store, joining the fetch, ending it, and the statistics. A fetch has no lock.
        #expect(try await fewest(Session(configuration: configuration, transport: InstantTransport())) == 26)
    }

    private func fewest(_ session: Session) async throws -> UInt64 {
        var fewest = UInt64.max
        // Unfinished work of other threads adds to some of the rounds.
        for _ in 0..<20 {
            let before = LockCount.total
            _ = try await session.request("https://example.org/small").data()
            fewest = min(fewest, LockCount.total - before)
        }
        return fewest
    }
}

/// Answers at once and takes no lock.
private struct InstantTransport: Transport {
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        let head = ResponseHead(status: 200)
        sink.willStart(NoControl())
        _ = sink.didReceive(head: head)
        _ = Data("x".utf8).withUnsafeBytes { sink.didReceive(body: $0) }
        return TransferOutcome(head: head, metrics: TransferMetrics(queued: Date(), ended: Date()))
    }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }
}
#endif
