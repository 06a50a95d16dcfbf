import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// What monitors cost that do not want the bytes of bodies, or are slow.
@Suite("Bytes for monitors", .timeLimit(.minutes(4)))
struct MonitorBacklogTests {
    /// Has no method for bytes of bodies.
    private struct Deaf: EventMonitor {
        let queue: DispatchQueue
    }

    private final class Hearing: EventMonitor {
        let queue: DispatchQueue
        let sizes = Recorded<Int>()
        let resumes = Recorded<Bool>()
        private let next: (any EventMonitor)?

        init(_ queue: DispatchQueue = DispatchQueue(label: "hearing"), passingOnTo next: (any EventMonitor)? = nil) {
            self.queue = queue
            self.next = next
        }

        func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
            sizes.note(data.count)
            next?.urlSession(session, dataTask: dataTask, didReceive: data)
        }

        func requestDidResume(_ request: Request) { resumes.note(true) }
    }

    // SAFETY: its only stored property is a `let` of a Sendable type.
    private final class LoudSubclass: ClosureEventMonitor, @unchecked Sendable {
        let sizes = Recorded<Int>()

        override func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
            sizes.note(data.count)
            super.urlSession(session, dataTask: dataTask, didReceive: data)
        }
    }

    private let session = SessionReference(identifier: nil, session: nil)

    /// Emits bytes, waits until they are delivered, and says how many events were made for them.
    @discardableResult
    private func emit(_ count: Int, to hub: MonitorHub, _ queues: [DispatchQueue]) async -> Int {
        let made = emitOnly(count, to: hub)
        for queue in queues { await queue.settled() }
        return made
    }

    @discardableResult
    private func emitOnly(_ count: Int, to hub: MonitorHub) -> Int {
        var made = 0
        Data(count: count).withUnsafeBytes { bytes in
            hub.emitBody(bytes) { data in
                made += 1
                return { $0.urlSession(session, dataTask: TaskIdentifier(rawValue: 1), didReceive: data) }
            }
        }
        return made
    }

    @Test func areCopiedForNobodyWhoLetsThemPass() async throws {
        let queue = DispatchQueue(label: "deaf")
        let hub = try #require(MonitorHub([Deaf(queue: queue), ClosureEventMonitor(queue: queue)]))
        #expect(await emit(10, to: hub, [queue]) == 1)
        #expect(await emit(10, to: hub, [queue]) == 0)
        #expect(!hub.wants(.body))
    }

    @Test func ofHeadsNothingIsMadeForThoseWhoLetThemPass() async throws {
        let queue = DispatchQueue(label: "heads")
        let seen = Recorded<Int>()
        let closure = ClosureEventMonitor(queue: queue)
        closure.dataTaskDidReceiveResponse = { seen.note($2.statusCode) }
        let response = try #require(
            HTTPURLResponse(url: URL(filePath: "/"), statusCode: 204, httpVersion: nil, headerFields: nil))
        let told = Recorded<Bool>()
        /// How many monitors were told of one.
        func count(by hub: MonitorHub) async -> Int {
            let before = told.all.count
            hub.emitHead {
                told.note(true)
                $0.urlSession(session, dataTask: TaskIdentifier(rawValue: 1), didReceive: response)
            }
            hub.emit { _ in }
            await queue.settled()
            return told.all.count - before
        }
        let deaf = try #require(MonitorHub([Deaf(queue: queue), ClosureEventMonitor(queue: queue)]))
        #expect(await count(by: deaf) == 2)
        #expect(!deaf.wants(.head))
        #expect(await count(by: deaf) == 0)
        let hearing = try #require(MonitorHub([Deaf(queue: queue), closure]))
        #expect(await count(by: hearing) == 2)
        for _ in 1...2 { #expect(await count(by: hearing) == 1) }
        #expect(seen.all == [204, 204, 204])
    }

    @Test func reachAllWhoListen() async throws {
        let queue = DispatchQueue(label: "mixed")
        let closure = ClosureEventMonitor(queue: queue)
        let seen = Recorded<Int>()
        closure.dataTaskDidReceiveData = { seen.note($2.count) }
        let subclass = LoudSubclass(queue: queue)
        let forwarding = Hearing(queue, passingOnTo: Deaf(queue: queue))
        let hub = try #require(MonitorHub([Deaf(queue: queue), closure, subclass, forwarding]))
        for size in 1...3 { await emit(size, to: hub, [queue]) }
        #expect(seen.all == [1, 2, 3])
        #expect(subclass.sizes.all == [1, 2, 3])
        #expect(forwarding.sizes.all == [1, 2, 3])
    }

    @Test func reachThoseBehindACompositeWhoListen() async throws {
        let inner = DispatchQueue(label: "inner")
        let deaf = CompositeEventMonitor(monitors: [Deaf(queue: inner)])
        let listener = Hearing(inner)
        let hearing = CompositeEventMonitor(monitors: [Deaf(queue: inner), listener])
        let hub = try #require(MonitorHub([deaf, hearing]))
        let queues = [deaf.queue, hearing.queue, inner]
        for size in 1...3 { await emit(size, to: hub, queues) }
        #expect(listener.sizes.all == [1, 2, 3])
        let deafHub = try #require(MonitorHub([deaf]))
        await emit(1, to: deafHub, queues)
        #expect(await emit(1, to: deafHub, queues) == 0)
    }

    @Test func waitForASlowQueueOnlySoFar() async throws {
        let queue = DispatchQueue(label: "slow")
        let monitor = Hearing(queue)
        let hub = try #require(MonitorHub([monitor]))
        let piece = 1 << 20
        queue.suspend()
        for _ in 0..<40 { emitOnly(piece, to: hub) }
        let request = Session(transport: MockTransport()).request("https://example.org/")
        for _ in 0..<100 { hub.emit { $0.requestDidResume(request) } }
        queue.resume()
        await queue.settled()
        #expect(monitor.sizes.all.reduce(0, +) <= MonitorHub.backlogLimit)
        #expect(monitor.sizes.all.count >= 10)
        #expect(monitor.resumes.all.count == 100)
        // What was missed is missed; what comes later is there again.
        await emit(7, to: hub, [queue])
        #expect(monitor.sizes.all.last == 7)
    }

    @Test func ofAWholeRequestAreTold() async throws {
        let monitor = Hearing()
        let chunks = [Data("one".utf8), Data("second".utf8)]
        let session = Session(
            transport: MockTransport { _ in .chunks(chunks) }, eventMonitors: [Deaf(queue: monitor.queue), monitor])
        _ = try await session.request("https://example.org/").data()
        await monitor.queue.settled()
        #expect(monitor.sizes.all == [3, 6])
    }
}
