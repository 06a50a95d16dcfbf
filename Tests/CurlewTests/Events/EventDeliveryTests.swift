import CurlewCore
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// The time and order in which monitors receive events, and the effects of a slow monitor.
@Suite("Delivery of events", .timeLimit(.minutes(4)))
struct EventDeliveryTests {
    private final class Monitor: EventMonitor {
        let queue: DispatchQueue
        let wantsBodies: Bool
        let events = Recorded<String>()
        let ends: AsyncStream<Request>
        private let end: AsyncStream<Request>.Continuation

        init(_ queue: DispatchQueue = DispatchQueue(label: "monitor"), wantsBodies: Bool = false) {
            self.queue = queue
            self.wantsBodies = wantsBodies
            (ends, end) = AsyncStream.makeStream()
        }

        func requestDidResume(_ request: Request) { events.note("resumed") }
        func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
            events.note("\(head.status) \(url.path)")
        }
        func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) {
            events.note("\(data.count) bytes")
        }
        func requestDidFinish(_ request: Request) {
            events.note("finished")
            end.yield(request)
        }
    }

    private func session(_ monitors: [any EventMonitor], _ response: MockResponse = .text("x")) -> Session {
        Session(transport: MockTransport { _ in response }, eventMonitors: monitors)
    }

    @Test func bytesGoToMonitorsThatWantThem() async throws {
        let (withBodies, withoutBodies) = (Monitor(wantsBodies: true), Monitor())
        let session = session([withBodies, withoutBodies], .chunks([Data("one".utf8), Data("second".utf8)]))
        _ = try await session.request("https://example.org/").data()
        for monitor in [withBodies, withoutBodies] { await monitor.queue.settled() }
        #expect(withBodies.events.all == ["resumed", "200 /", "3 bytes", "6 bytes", "finished"])
        #expect(withoutBodies.events.all == ["resumed", "200 /", "finished"])
    }

    @Test func monitorsThatShareAQueueEachReceiveEverythingInOrder() async throws {
        let queue = DispatchQueue(label: "shared")
        let monitors = [Monitor(queue), Monitor(queue)]
        let session = session(monitors)
        for _ in 0..<3 { _ = try await session.request("https://example.org/").data() }
        await queue.settled()
        let expected = Array(repeating: ["resumed", "200 /", "finished"], count: 3).flatMap { $0 }
        for monitor in monitors { #expect(monitor.events.all == expected) }
    }

    /// Each use of `DispatchQueue.main` creates another object, so queues cannot be compared by identity.
    @Test(arguments: [false, true])
    func monitorsOfOneQueueReceiveEventsInAddedOrder(isMain: Bool) async throws {
        let (queue, events) = (DispatchQueue(label: "shared"), Recorded<String>())
        func monitor(_ name: String) -> NamedMonitor { NamedMonitor(isMain ? DispatchQueue.main : queue, name, events) }
        let session = session([monitor("first"), monitor("second")])
        let count = 300
        for _ in 0..<count {
            _ = try await session.request("https://example.org/")
                .eventMonitor(monitor("third")).eventMonitor(monitor("fourth")).data()
        }
        await (isMain ? DispatchQueue.main : queue).settled()
        let ofOne = ["resumed", "task", "finished"].flatMap { event in
            ["first", "second", "third", "fourth"].map { "\(event) \($0)" }
        }
        #expect(events.all == Array(repeating: ofOne, count: count).flatMap { $0 })
    }

    private final class NamedMonitor: EventMonitor {
        let queue: DispatchQueue
        private let name: String
        private let events: Recorded<String>

        init(_ queue: DispatchQueue, _ name: String, _ events: Recorded<String>) {
            self.queue = queue
            self.name = name
            self.events = events
        }

        func requestDidResume(_ request: Request) { events.note("resumed \(name)") }
        func request(_ request: Request, didCreateTask task: TaskIdentifier) { events.note("task \(name)") }
        func requestDidFinish(_ request: Request) { events.note("finished \(name)") }
    }

    @Test func monitorOfRequestReceivesNoExchangeEvents() async throws {
        let monitor = Monitor(wantsBodies: true)
        _ = try await session([]).request("https://example.org/").eventMonitor(monitor).data()
        await monitor.queue.settled()
        #expect(monitor.events.all == ["resumed", "finished"])
    }

    /// A block that is enqueued after a request has ended runs after all events of that request, however quickly
    /// requests follow each other.
    @Test func allEventsAreEnqueuedWhenRequestEnds() async throws {
        let monitor = Monitor()
        let session = session([monitor])
        for count in 1...200 {
            _ = try await session.request("https://example.org/").data()
            await monitor.queue.settled()
            #expect(monitor.events.all.count == count * 3)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    _ = try? await session.request("https://example.org/").data()
                    await monitor.queue.settled()
                }
            }
        }
        #expect(monitor.events.all.filter { $0 == "finished" }.count == 250)
    }

    @Test func endOfRequestIsReportedWhileAnotherRuns() async throws {
        let monitor = Monitor()
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

    @Test func blockedQueueBlocksNoRequestOrOtherMonitor() async throws {
        let (blocked, free) = (Monitor(), Monitor())
        blocked.queue.suspend()
        _ = try await session([blocked, free]).request("https://example.org/").data()
        await free.queue.settled()
        #expect(free.events.all == ["resumed", "200 /", "finished"])
        #expect(blocked.events.all.isEmpty)
        blocked.queue.resume()
        await blocked.queue.settled()
        #expect(blocked.events.all == free.events.all)
    }

    @Test func oneBlockDeliversAllPendingEvents() async {
        let monitor = Monitor()
        let delivery = MonitorQueue(monitor)
        let order = Recorded<Int>()
        monitor.queue.suspend()
        for number in 1...3 { delivery.emit { _ in order.note(number) } }
        monitor.queue.async { order.note(4) }
        // The fifth event enqueues no block: the block of the first event is still pending and delivers all of them.
        delivery.emit { _ in order.note(5) }
        monitor.queue.resume()
        await monitor.queue.settled()
        #expect(order.all == [1, 2, 3, 5, 4])
    }

    @Test func bytesForASlowQueueAreBoundedAndOtherEventsAreNot() async {
        let monitor = Monitor(wantsBodies: true)
        let delivery = MonitorQueue(monitor)
        let (bytes, others) = (Recorded<Int>(), Recorded<Int>())
        let piece = Data(count: 1 << 20)
        monitor.queue.suspend()
        for _ in 0..<40 { delivery.emitBody(piece) { _ in bytes.note(piece.count) } }
        for number in 0..<100 { delivery.emit { _ in others.note(number) } }
        monitor.queue.resume()
        await monitor.queue.settled()
        #expect(bytes.all.reduce(0, +) <= EventLane.limit)
        #expect(bytes.all.count >= 10)
        #expect(others.all == Array(0..<100))
        // When the queue has caught up, bytes are delivered again.
        delivery.emitBody(Data(count: 7)) { _ in bytes.note(7) }
        await monitor.queue.settled()
        #expect(bytes.all.last == 7)
    }

    @Test func chunksAndStoredResponsesForASlowQueueAreBounded() async throws {
        let monitor = Monitor(wantsBodies: true)
        let sink = try #require(EventSink(session: [MonitorQueue(monitor)], own: []))
        let (chunks, stored) = (Recorded<Int>(), Recorded<Int>())
        let body = Data(count: 1 << 20)
        monitor.queue.suspend()
        for _ in 0..<40 {
            // A sink also delivers to the process-wide monitor, if there is one.
            sink.emitChunk(ofBytes: body.count) { if ($0 as? Monitor) === monitor { chunks.note(body.count) } }
            sink.emitStorage(of: body) { _ in stored.note(body.count) }
        }
        monitor.queue.resume()
        await monitor.queue.settled()
        #expect((chunks.all + stored.all).reduce(0, +) <= EventLane.limit)
        #expect(chunks.all.count >= 5 && stored.all.count >= 5)
    }
}
