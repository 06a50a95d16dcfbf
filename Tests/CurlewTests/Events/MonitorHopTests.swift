import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// When monitors' queues are woken, and what they find then.
@Suite("Hops to monitors", .timeLimit(.minutes(4)))
struct MonitorHopTests {
    private enum Kind { case now, later }

    private func kinds(_ hops: [(lane: Int, hop: MonitorBacklog.Hop)]) -> [Kind] { hops.map { kind($0.hop) } }

    private func kind(_ hop: MonitorBacklog.Hop) -> Kind {
        switch hop {
        case .now: .now
        case .later: .later
        }
    }

    private let start = DispatchTime(uptimeNanoseconds: 1_000_000_000)

    @Test func anIdleLaneIsWokenAtOnceAndOnlyOnce() {
        var backlog = MonitorBacklog(monitors: [1, 1])
        #expect(kinds(backlog.add({ _ in }, isLeading: true, at: start)) == [.now, .now])
        #expect(backlog.add({ _ in }, isLeading: true, at: start).isEmpty)
        #expect(backlog.add({ _ in }, isLeading: false, at: start).isEmpty)
    }

    @Test func afterADeliveryLeadingEventsWaitAndOthersDoNot() {
        var backlog = MonitorBacklog(monitors: [1])
        _ = backlog.add({ _ in }, isLeading: true, at: start)
        backlog[0].isHopping = false
        #expect(backlog.takeAll(for: 0, at: start).count == 1)
        #expect(kinds(backlog.add({ _ in }, isLeading: true, at: start + .milliseconds(1))) == [.later])
        #expect(backlog.add({ _ in }, isLeading: true, at: start + .milliseconds(1)).isEmpty)
        #expect(kinds(backlog.add({ _ in }, isLeading: false, at: start + .milliseconds(1))) == [.now])
    }

    @Test func whatWaitsIsBroughtWhenAllHaveLeft() {
        var backlog = MonitorBacklog(monitors: [1])
        _ = backlog.add({ _ in }, isLeading: true, at: start)
        backlog[0].isHopping = false
        _ = backlog.takeAll(for: 0, at: start)
        #expect(kinds(backlog.add({ _ in }, isLeading: true, at: start + .milliseconds(1))) == [.later])
        #expect(kinds(backlog.allLeft()) == [.now])
        // That hop is on its way.
        #expect(backlog.allLeft().isEmpty)
        backlog[0].isHopping = false
        #expect(backlog.takeAll(for: 0).count == 1)
        #expect(backlog.allLeft().isEmpty)
    }

    @Test func theLastRequestThatLeavesBringsIt() throws {
        let queue = DispatchQueue(label: "org.curlew.test.left")
        let hub = try #require(MonitorHub([ClosureEventMonitor(queue: queue)]))
        let seen = Recorded<Int>()
        for _ in 0..<2 { hub.requestJoined() }
        hub.emitLeading([]) { _ in seen.note(1) }
        queue.sync {}
        #expect(seen.all == [1])
        hub.emitLeading([]) { _ in seen.note(2) }
        hub.emitLast([]) { _ in seen.note(3) }
        for _ in 0..<2 { hub.requestLeft() }
        queue.sync {}
        #expect(seen.all == [1, 2, 3])
        // The redirect is not followed.
        hub.emitLast([]) { _ in seen.note(4) }
        queue.sync {}
        #expect(seen.all == [1, 2, 3, 4])
    }

    /// Some leave before their last event, as handlers may let them.
    @Test func nothingWaitsWhenAllHaveLeftAtOnce() async throws {
        let queue = DispatchQueue(label: "org.curlew.test.all-left")
        let hub = try #require(MonitorHub([ClosureEventMonitor(queue: queue)]))
        let seen = Recorded<Int>()
        for round in 1...200 {
            await withDiscardingTaskGroup { group in
                for number in 0..<8 {
                    group.addTask {
                        hub.requestJoined()
                        hub.emitLeading([]) { _ in seen.note(number) }
                        if number % 2 == 0 { hub.requestLeft() }
                        hub.emitLast([]) { _ in seen.note(number) }
                        if number % 2 == 1 { hub.requestLeft() }
                    }
                }
            }
            queue.sync {}
            try #require(seen.all.count == round * 16)
        }
    }

    @Test func aLaneThatHadNothingForAWhileIsIdleAgain() {
        var backlog = MonitorBacklog(monitors: [1])
        _ = backlog.add({ _ in }, isLeading: true, at: start)
        backlog[0].isHopping = false
        _ = backlog.takeAll(for: 0, at: start)
        #expect(kinds(backlog.add({ _ in }, isLeading: true, at: start + .milliseconds(50))) == [.now])
    }

    @Test func everyLaneGetsEverythingOnceAndInOrder() async {
        var backlog = MonitorBacklog(monitors: [1, 1])
        let seen = Recorded<Int>()
        func event(_ number: Int) -> MonitorHub.Event { { _ in seen.note(number) } }
        func take(_ lane: Int) -> [Int] {
            let before = seen.all.count
            let monitor = ClosureEventMonitor()
            for batch in backlog.takeAll(for: lane) { for entry in batch.entries { entry.event(monitor) } }
            return Array(seen.all.dropFirst(before))
        }
        _ = backlog.add(event(1), isLeading: true)
        _ = backlog.add(MonitorBacklog.Entry(event: event(2), cost: 10, dear: .body), to: 1, isLeading: false)
        _ = backlog.add(MonitorBacklog.Entry(event: event(3), cost: 10, dear: .body), to: 1, isLeading: false)
        _ = backlog.add(event(4), isLeading: true)
        #expect(take(0) == [1, 4])
        _ = backlog.add(event(5), isLeading: true)
        #expect(take(1) == [1, 2, 3, 4, 5])
        #expect(take(0) == [5])
        #expect(take(0).isEmpty && take(1).isEmpty)
    }

    private final class Counter: EventMonitor {
        let queue = DispatchQueue(label: "counter")
        let finished = Recorded<Request>()
        let ends: AsyncStream<Request>
        private let end: AsyncStream<Request>.Continuation

        init() { (ends, end) = AsyncStream.makeStream() }

        func requestDidFinish(_ request: Request) {
            finished.note(request)
            end.yield(request)
        }
    }

    /// A block that is queued behind a request sees its end, however quickly requests follow each other.
    @Test func behindTheLastRequestEverythingIsInTheQueue() async throws {
        let monitor = Counter()
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [monitor])
        for count in 1...200 {
            _ = try await session.request("https://example.org/").data()
            await monitor.queue.settled()
            #expect(monitor.finished.all.count == count)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try? await session.request("https://example.org/").data() } }
        }
        await monitor.queue.settled()
        #expect(monitor.finished.all.count == 250)
    }

    /// A request that runs on delays the end of others by milliseconds, not until its own.
    @Test func theEndOfOneRequestIsToldWhileAnotherRuns() async throws {
        let monitor = Counter()
        let gate = Gate()
        let transport = MockTransport { request in
            if request.url.path == "/slow" { try await gate.wait() }
            return .text("x")
        }
        let session = Session(transport: transport, eventMonitors: [monitor])
        async let slow = session.request("https://example.org/slow").data()
        try await gate.waitForArrivals(count: 1)
        for _ in 0..<5 { _ = try await session.request("https://example.org/").data() }
        var ends = monitor.ends.makeAsyncIterator()
        for _ in 0..<5 { #expect(await ends.next() != nil) }
        gate.open()
        _ = try await slow
    }
}
