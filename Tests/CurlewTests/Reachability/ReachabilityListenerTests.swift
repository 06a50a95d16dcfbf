import Curlew
import Dispatch
import Foundation
import Testing

/// Uses the loopback address, which is always reachable.
@Suite("A listener for reachability", .timeLimit(.minutes(4)))
struct ReachabilityListenerTests {
    private let queue = DispatchQueue(label: "reachability.listener")

    @Test func listenerAndNotificationReportCurrentStatus() async throws {
        let manager = NetworkReachabilityManager(host: "127.0.0.1")
        let (heard, continuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        let (posted, poster) = AsyncStream.makeStream(of: NetworkReachabilityStatus?.self)
        let token = NotificationCenter.default.addObserver(
            forName: NetworkReachabilityManager.statusDidChangeNotification, object: manager, queue: nil
        ) { poster.yield($0.userInfo?[NetworkReachabilityManager.statusKey] as? NetworkReachabilityStatus) }
        defer { NotificationCenter.default.removeObserver(token) }
        let started = manager.startListening(onQueue: queue) { [queue] status in
            dispatchPrecondition(condition: .onQueue(queue))
            continuation.yield(status)
        }
        #expect(started)
        let status = try #require(await heard.first { _ in true })
        #expect(status != .unknown)
        #expect(try #require(await posted.first { _ in true }) == status)
        #expect(manager.status == status)
        #expect(manager.isReachable == (status != .notReachable))
        manager.stopListening()
        #expect(manager.status == .unknown)
    }

    @Test func newListenerReplacesThePreviousOne() async throws {
        let manager = NetworkReachabilityManager(host: "127.0.0.1")
        let (first, firstContinuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        manager.startListening(onQueue: queue) { firstContinuation.yield($0) }
        _ = await first.first { _ in true }
        let (second, secondContinuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        manager.startListening(onQueue: queue) { secondContinuation.yield($0) }
        #expect(await second.first { _ in true } != nil)
        manager.stopListening()
    }

    @Test func statusStreamContinuesWithoutListener() async throws {
        let manager = NetworkReachabilityManager(host: "127.0.0.1")
        var statuses = manager.statuses().makeAsyncIterator()
        let before = await statuses.next()
        let (heard, continuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        manager.startListening(onQueue: queue) { continuation.yield($0) }
        _ = await heard.first { _ in true }
        // Streams receive a new monitor's status before the listener does, so the next value is the following
        // monitor's.
        #expect(await statuses.next() == before)
        manager.stopListening()
        #expect(await statuses.next() == before)
    }
}
