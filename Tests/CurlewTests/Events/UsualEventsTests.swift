import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// Events that every request has are built only for those who do something with them.
@Suite(.timeLimit(.minutes(4)))
struct UsualEventsTests {
    private struct Deaf: EventMonitor {
        let queue: DispatchQueue
    }

    // SAFETY: every stored property is a `let` of a Sendable type.
    private class Finishes: EventMonitor, @unchecked Sendable {
        let queue: DispatchQueue
        let seen = Recorded<String>()
        private let next: (any EventMonitor)?

        init(_ queue: DispatchQueue, passingOnTo next: (any EventMonitor)? = nil) {
            self.queue = queue
            self.next = next
        }

        func requestDidFinish(_ request: Request) {
            seen.note("finished")
            next?.requestDidFinish(request)
        }
    }

    // SAFETY: it stores nothing of its own.
    private final class FinishesToo: Finishes, @unchecked Sendable {
        override func requestDidFinish(_ request: Request) { seen.note("finished too") }
    }

    private final class Resumes: EventMonitor {
        let queue: DispatchQueue
        let seen = Recorded<String>()

        init(_ queue: DispatchQueue) { self.queue = queue }

        func requestDidResume(_ request: Request) { seen.note("resumed") }
    }

    private let queue = DispatchQueue(label: "monitor")
    private let other = DispatchQueue(label: "other")

    private func run(_ count: Int, _ monitors: [any EventMonitor]) async throws -> Session {
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: monitors)
        for _ in 0..<count {
            _ = try await session.request("https://example.org/").data()
            for queue in [queue, other] { await queue.settled() }
        }
        return session
    }

    @Test func whatNobodyHearsIsNotBuilt() async throws {
        let monitor = Finishes(queue)
        let session = try await run(3, [monitor, Deaf(queue: other)])
        #expect(monitor.seen.all == ["finished", "finished", "finished"])
        let unheard = try #require(session.context.monitors).unheard
        #expect(!unheard.contains(.finished))
        #expect(unheard.isSuperset(of: [.resumed, .gatheredMetrics, .requests, .madeTask, .heads]))
    }

    @Test func nobodyIsJudgedBeforeTheFirst() async throws {
        let session = try await run(1, [Finishes(queue), Deaf(queue: queue)])
        // No adapter has run, so no monitor can have shown yet that it ignores the event.
        #expect(session.context.monitors?.unheard.contains(.adaptedRequest) == false)
    }

    /// What a monitor hears must not wait for a last event that it does not.
    @Test func whatIsHeardDoesNotWaitForWhatIsNot() async throws {
        let monitor = Resumes(queue)
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [monitor])
        for count in 1...20 {
            _ = try await session.request("https://example.org/").data()
            await queue.settled()
            #expect(monitor.seen.all.count == count)
        }
        #expect(session.context.monitors?.unheard.contains(.finished) == true)
    }

    @Test func subclassesAndThoseWhoPassOnAreHeard() async throws {
        let subclass = FinishesToo(queue)
        let forwarding = Finishes(other, passingOnTo: Deaf(queue: other))
        _ = try await run(3, [subclass, forwarding])
        #expect(subclass.seen.all == Array(repeating: "finished too", count: 3))
        #expect(forwarding.seen.all == Array(repeating: "finished", count: 3))
    }

    /// One that passes everything on hears what those behind it do.
    @Test func compositesHearWhatTheirsDo() async throws {
        let inner = Finishes(other)
        let composite = CompositeEventMonitor(monitors: [Deaf(queue: other), inner])
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [composite])
        for count in 1...3 {
            _ = try await session.request("https://example.org/").data()
            await composite.queue.settled()
            await other.settled()
            #expect(inner.seen.all.count == count)
        }
    }

    /// Two of a type may differ.
    @Test func oneWithoutClosuresSilencesNoOther() async throws {
        let (silent, loud) = (ClosureEventMonitor(queue: queue), ClosureEventMonitor(queue: queue))
        let seen = Recorded<String>()
        loud.requestDidFinish = { _ in seen.note("finished") }
        loud.dataTaskDidReceiveData = { _, _, data in seen.note("\(data.count)") }
        _ = try await run(3, [silent, loud])
        #expect(seen.all == ["1", "finished", "1", "finished", "1", "finished"])
    }

    /// It has a method for every event, and says of the two dear ones alone that there is no closure.
    @Test func oneWithoutClosuresIsNotTakenForDeaf() async throws {
        let session = try await run(3, [ClosureEventMonitor(queue: queue)])
        #expect(session.context.monitors?.unheard == [.heads, .bodies])
    }

    @Test func aRequestsOwnMonitorsAreAskedForThemselves() async throws {
        let session = try await run(3, [Deaf(queue: queue)])
        #expect(session.context.monitors?.unheard.contains(.finished) == true)
        let own = Finishes(other)
        let request = session.request("https://example.org/").eventMonitor(own)
        _ = try await request.data()
        await other.settled()
        #expect(own.seen.all == ["finished"])
    }

    /// A method that calls another of its own, which is a default.
    @Test func aMonitorThatCallsItselfIsHeard() async throws {
        struct Chatty: EventMonitor {
            let queue: DispatchQueue
            let seen = Recorded<String>()

            func requestDidFinish(_ request: Request) {
                seen.note("finished")
                requestDidResume(request)
            }
        }
        let chatty = Chatty(queue: queue)
        let session = try await run(3, [chatty])
        #expect(chatty.seen.all.count == 3)
        #expect(session.context.monitors?.unheard.contains(.finished) == false)
        #expect(session.context.monitors?.unheard.contains(.resumed) == true)
    }

    @Test func aTrialConcernsItsOwnEventAndType() {
        let (deaf, finishes) = (Deaf(queue: queue), Finishes(queue))
        let request = Session(transport: MockTransport()).request("https://example.org/")
        #expect(EventTrial.passes(Deaf.self, .finished) { deaf.requestDidFinish(request) })
        #expect(!EventTrial.passes(Deaf.self, .resumed) { deaf.requestDidFinish(request) })
        #expect(!EventTrial.passes(Finishes.self, .finished) { finishes.requestDidFinish(request) })
        #expect(!EventTrial.passes(Finishes.self, .finished) { deaf.requestDidFinish(request) })
        // One within another.
        var inner = false
        let outer = EventTrial.passes(Finishes.self, .finished) {
            inner = EventTrial.passes(Deaf.self, .finished) { deaf.requestDidFinish(request) }
        }
        #expect(inner)
        #expect(!outer)
        // Outside of a trial a default is nothing.
        deaf.requestDidFinish(request)
    }
}
