import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

/// The copies of one request, one call after the other.
@Suite("Hedged copies", .timeLimit(.minutes(4)))
struct HedgedCopiesTests {
    private final class Control: TransferControl {
        let calls = Lock<[String]>([])

        func resumeReceiving() { calls.withLock { $0.append("resumeReceiving") } }
        func suspend() { calls.withLock { $0.append("suspend") } }
        func resume() { calls.withLock { $0.append("resume") } }
        func cancel(with error: CurlewError) { calls.withLock { $0.append("cancel: \(error.reason)") } }
    }

    private final class Sink: TransferSink {
        let calls = Lock<[String]>([])

        func didReceive(informational head: ResponseHead) { calls.withLock { $0.append("\(head.status)") } }
        func didReceive(head: ResponseHead) -> Disposition {
            calls.withLock { $0.append("head \(head.status)") }
            return .proceed
        }
        func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
        func didSend(bodyBytes: Int64, of expected: Int64?) { calls.withLock { $0.append("sent \(bodyBytes)") } }
    }

    private final class Observer: TurnObserver {
        let turns = Lock(0)

        func turnEnded() { turns.withLock { $0 += 1 } }
    }

    private let copies = HedgedCopies()
    private let first = Control()
    private let second = Control()
    private let sink = Sink()

    private func calls(_ control: Control) -> [String] { control.calls.withLock { $0 } }
    private var sinkCalls: [String] { sink.calls.withLock { $0 } }

    /// Begins the second copy, whose transport starts as well.
    private func hedge() async {
        copies.started(.first, first)
        #expect(await copies.beginHedge())
        copies.started(.second, second)
    }

    /// Reports 10 bytes of an upload.
    private func reportUpload(of copy: HedgeRace.Copy) {
        copies.forward(
            from: copy, to: sink, otherwise: { $0.sent = (10, 10) }, { [sink] in sink.didSend(bodyBytes: 10, of: 10) })
    }

    private func reportEarlyHints(of copy: HedgeRace.Copy) {
        let head = ResponseHead(status: 103)
        copies.forward(
            from: copy, to: sink, otherwise: { $0.informational.append(head) },
            { [sink] in sink.didReceive(informational: head) })
    }

    private let cancelled = "cancel: the other copy of the request was faster"

    @Test("a single copy passes all its events on")
    func alone() async {
        copies.started(.first, first)
        reportEarlyHints(of: .first)
        reportUpload(of: .first)
        #expect(copies.headArrived(ResponseHead(status: 503), of: .first) == .deliver)
        #expect(copies.deliverHeldHead(of: .first, to: sink) != nil)
        #expect(copies.deliverHeldHead(of: .first, to: sink) == nil)
        #expect(sinkCalls == ["103", "sent 10", "head 503"])
        #expect(copies.route(of: .first) == .deliver && copies.winner == .first)
        #expect(await !copies.beginHedge())
    }

    @Test("with two copies, each copy's events are held back until it has won")
    func backlog() async {
        copies.started(.first, first)
        reportUpload(of: .first)
        await hedge()
        for copy in [HedgeRace.Copy.first, .second] {
            reportEarlyHints(of: copy)
            reportUpload(of: copy)
        }
        #expect(sinkCalls == ["sent 10"])
        #expect(copies.headArrived(ResponseHead(status: 200), of: .second) == .deliver)
        _ = copies.deliverHeldHead(of: .second, to: sink)
        reportUpload(of: .first)
        #expect(copies.headArrived(ResponseHead(status: 200), of: .first) == .drop)
        #expect(copies.deliverHeldHead(of: .first, to: sink) == nil && copies.route(of: .first) == .drop)
        #expect(sinkCalls == ["sent 10", "103", "sent 10", "head 200"])
        #expect(calls(first) == [cancelled] && calls(second).isEmpty)
    }

    @Test("a second copy waits while the first one calls the sink", arguments: [false, true])
    func passing(isCancelled: Bool) async {
        copies.started(.first, first)
        let (calling, isDue) = (OneShot<Void>(), DispatchSemaphore(value: 0))
        // The call blocks its thread, which must not be one of the tasks' threads.
        Thread.detachNewThread { [copies, sink] in
            copies.forward(from: .first, to: sink, otherwise: { _ in }) {
                calling.resolve(())
                isDue.wait()
                #expect(!copies.isHedged)
                if isCancelled { copies.cancel(with: CurlewError(.cancelled, phase: .receive)) }
            }
        }
        await calling.wait()
        isDue.signal()
        #expect(await copies.beginHedge() != isCancelled)
        #expect(copies.isHedged != isCancelled)
    }

    @Test("a held head is delivered when the other copy has failed")
    func held() async throws {
        await hedge()
        #expect(copies.headArrived(ResponseHead(status: 503), of: .first) == .hold)
        #expect(copies.route(of: .first) == .hold)
        copies.ended(.second, .failure(CurlewError(.connectFailed, phase: .connect)))
        #expect(calls(first) == ["resumeReceiving"] && copies.route(of: .first) == .deliver)
        _ = copies.deliverHeldHead(of: .first, to: sink)
        #expect(sinkCalls == ["head 503"])
        #expect(copies.outcome(of: .second)?.error?.code == .connectFailed && copies.badHead(of: .second) == nil)
    }

    @Test("each copy has the outcome of its own response, even if the second one wins")
    func outcomes() async {
        await hedge()
        #expect(copies.headArrived(ResponseHead(status: 503), of: .first) == .hold)
        #expect(copies.headArrived(ResponseHead(status: 200), of: .second) == .deliver)
        #expect(copies.outcome(of: .first)?.status == 503 && copies.outcome(of: .second)?.status == 200)
    }

    @Test("a losing copy that starts late is cancelled when it starts")
    func lateStart() async {
        copies.started(.first, first)
        #expect(await copies.beginHedge())
        #expect(copies.headArrived(ResponseHead(status: 200), of: .first) == .deliver)
        copies.started(.second, second)
        #expect(calls(second) == [cancelled] && calls(first).isEmpty)
        #expect(copies.outcome(of: .second) == nil)
    }

    @Test("a held head of the first copy is delivered if the second copy is refused")
    func refused() async {
        copies.started(.first, first)
        #expect(await copies.beginHedge())
        #expect(copies.headArrived(ResponseHead(status: 429), of: .first) == .hold)
        copies.hedgeWasRefused()
        #expect(calls(first) == ["resumeReceiving"] && copies.winner == .first)
    }

    @Test(
        "a first copy that is alone again passes on what it has kept, and all later events", arguments: [true, false])
    func aloneAgain(isRefused: Bool) async {
        copies.started(.first, first)
        #expect(await copies.beginHedge())
        reportEarlyHints(of: .first)
        #expect(sinkCalls.isEmpty)
        if isRefused {
            copies.hedgeWasRefused()
        } else {
            copies.started(.second, second)
            reportUpload(of: .second)
            copies.ended(.second, .failure(CurlewError(.connectFailed, phase: .connect)))
        }
        reportUpload(of: .first)
        reportEarlyHints(of: .first)
        #expect(sinkCalls == ["103", "sent 10", "103"])
        #expect(copies.headArrived(ResponseHead(status: 200), of: .first) == .deliver)
        _ = copies.deliverHeldHead(of: .first, to: sink)
        #expect(sinkCalls == ["103", "sent 10", "103", "head 200"])
    }

    @Test("a held copy that has won passes on what it has kept before later events")
    func orderOfKeptEvents() async {
        await hedge()
        reportEarlyHints(of: .first)
        #expect(copies.headArrived(ResponseHead(status: 503), of: .first) == .hold)
        copies.ended(.second, .failure(CurlewError(.connectFailed, phase: .connect)))
        reportUpload(of: .first)
        _ = copies.deliverHeldHead(of: .first, to: sink)
        #expect(sinkCalls == ["103", "sent 10", "head 503"])
    }

    @Test("the owner's commands reach both copies, even a copy that starts later")
    func commands() async {
        copies.started(.first, first)
        copies.suspend()
        // A suspended request is not hedged.
        #expect(await !copies.beginHedge())
        copies.resume()
        #expect(await copies.beginHedge())
        copies.suspend()
        copies.started(.second, second)
        copies.cancel(with: CurlewError(.cancelled, phase: .receive, reason: "enough"))
        #expect(calls(first) == ["suspend", "resume", "suspend", "cancel: enough"])
        #expect(calls(second) == ["suspend", "cancel: enough"])
        #expect(await !copies.beginHedge())
    }

    @Test("a request that is cancelled is not hedged")
    func cancelledBefore() async {
        copies.started(.first, first)
        copies.cancel(with: CurlewError(.cancelled, phase: .receive))
        #expect(await !copies.beginHedge())
    }

    @Test("over a transport without turns, an observer is notified of the end of the turn at once")
    func turns() {
        copies.started(.first, first)
        _ = copies.headArrived(ResponseHead(status: 200), of: .first)
        let observer = Observer()
        copies.atEndOfTurn(tell: observer)
        #expect(observer.turns.withLock { $0 } == 1)
    }

    @Test("a slow first copy has a latency when it has lost, and an error response has none")
    func latency() async {
        await hedge()
        #expect(copies.latency == nil)
        _ = copies.headArrived(ResponseHead(status: 200), of: .second)
        #expect(copies.latency != nil)
        let other = HedgedCopies()
        other.started(.first, Control())
        _ = other.headArrived(ResponseHead(status: 500), of: .first)
        #expect(other.latency == nil)
    }
}

/// Hedging over sockets. Which copy reaches the server first is not known.
@Suite("Hedging over sockets", .timeLimit(.minutes(4)))
struct HedgingOverSocketsTests {
    private let server: TestServer
    private let session: Session

    init() throws {
        server = try TestServer()
        var hedging = Hedging.after(.zero)
        hedging.maximumShare = 1
        session = Session(configuration: SessionConfiguration { $0.resilience.hedging = hedging })
    }

    @Test("the connection of the losing copy is closed")
    func loser() async throws {
        let never = Gate()
        server.script("/a", .text("slow").stalling(until: never, at: .beforeHead), .text("fast"))
        let request = session.request(server.url("/a"))
        #expect(try await request.string() == "fast")
        #expect(request.metrics?.hedge != nil)
        try await server.waitForOpenConnections(atMost: 1)
    }

    @Test("a large body of the winning copy is read to its end", arguments: [true, false])
    func largeBody(isStream: Bool) async throws {
        let never = Gate()
        let body = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        server.script("/a", .data(body).stalling(until: never, at: .beforeHead), .data(body))
        if isStream {
            let read = try await session.streamRequest(server.url("/a")).chunks.reduce(into: Data()) { $0 += $1 }
            #expect(read == body)
        } else {
            #expect(try await session.request(server.url("/a")).data() == body)
        }
        try await server.waitForOpenConnections(atMost: 1)
    }

    @Test(
        "a good response wins over a 503, which is delivered if the other copy fails",
        arguments: [true, false], [true, false])
    func badResponse(hasBody: Bool, isGoodComing: Bool) async throws {
        let (bad, other) = (Gate(), Gate())
        let text = hasBody ? "busy" : ""
        let busy = TestServer.Response.text(text, status: 503)
        let fine = TestServer.Response.text("fine").stalling(until: other, at: .beforeHead)
        server.script(
            "/a", busy.stalling(until: bad, at: .beforeHead),
            isGoodComing ? fine : fine.faulting(.reset, at: .beforeHead))
        let request = session.request(server.url("/a"))
        async let response = request.response()
        try await bad.waitForArrivals(count: 1)
        try await other.waitForArrivals(count: 1)
        bad.open()
        other.open()
        let answer = await response
        #expect(answer.response?.statusCode == (isGoodComing ? 200 : 503))
        let body = answer.data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(body == (isGoodComing ? "fine" : text))
    }
}
