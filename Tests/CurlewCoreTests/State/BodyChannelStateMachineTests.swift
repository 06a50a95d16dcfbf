import CurlewCore
import Foundation
import Testing

@Suite("Body channel, decisions", .timeLimit(.minutes(4)))
struct BodyChannelStateMachineTests {
    typealias Machine = BodyChannelStateMachine<Int>

    /// One thing that happens to a channel, and what must come of it.
    enum Step: Sendable, CustomStringConvertible {
        case started
        case offered(Machine.OfferAction)
        case delivered(String, wakes: Int? = nil)
        /// By a producer that has turns.
        case deliveredInTurn(String, awaitsEnd: Bool = false)
        case turnEnded(wakes: Int? = nil)
        case ended(CurlewError.Code? = nil, wakes: Int? = nil)
        case asked(Machine.TakeAction)
        case waited(Int, isWokenAtOnce: Bool = false)
        case left(waiter: Int? = nil, cancels: Bool)

        var description: String { String(reflecting: self).replacingOccurrences(of: "CurlewCoreTests.", with: "") }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [Step]
        var testDescription: String { name }
    }

    static func chunk(_ text: String, resume: Bool = false) -> Machine.TakeAction {
        .deliver(Data(text.utf8), resumeProducer: resume)
    }

    static func rethrown(_ code: CurlewError.Code) -> Machine.TakeAction {
        .rethrow(Machine.FinishedWith(error: CurlewError(code, phase: .receive)))
    }

    // A chunk of n bytes counts n + 64: with these marks two chunks of 10 stop the producer (148 ≥ 140),
    // and it goes on when one is left (74 ≤ 80).
    static let marks = BodyChannelWatermarks(high: 140, low: 80)
    static let ten = "0123456789"

    static let cases: [Case] = [
        Case(
            name: "bytes are handed out in order",
            steps: [
                .offered(.take), .delivered("a"), .delivered("b"), .asked(chunk("a")), .asked(chunk("b")),
                .asked(.wait),
            ]),
        Case(
            name: "a waiting consumer is woken, and finds the bytes",
            steps: [
                .asked(.wait), .waited(1), .offered(.take), .delivered("a", wakes: 1), .asked(chunk("a")),
                .asked(.wait),
            ]),
        Case(
            name: "a consumer that is woken once finds all that has come until it runs",
            steps: [
                .waited(1), .delivered("a", wakes: 1), .delivered("b"), .asked(chunk("a")), .asked(chunk("b")),
            ]),
        Case(
            name: "a waiting consumer is woken at the end of the turn, once",
            steps: [
                .waited(1), .deliveredInTurn("a", awaitsEnd: true), .deliveredInTurn("b"), .turnEnded(wakes: 1),
                .turnEnded(), .asked(chunk("a")), .asked(chunk("b")), .asked(.wait),
            ]),
        Case(
            name: "a consumer that does not wait is not woken by the end of the turn",
            steps: [.deliveredInTurn("a"), .turnEnded(), .asked(chunk("a"))]),
        Case(
            name: "a turn that fills the channel pauses the producer, which goes on at the low mark",
            steps: [
                .waited(1), .deliveredInTurn(ten, awaitsEnd: true), .offered(.take), .deliveredInTurn(ten),
                .offered(.pause), .turnEnded(wakes: 1), .asked(chunk(ten, resume: true)), .asked(chunk(ten)),
            ]),
        Case(
            name: "the end of the body wakes a consumer before the end of the turn",
            steps: [
                .waited(1), .deliveredInTurn("a", awaitsEnd: true), .ended(.truncated, wakes: 1), .turnEnded(),
                .asked(chunk("a")), .asked(rethrown(.truncated)),
            ]),
        Case(
            name: "a second consumer is refused until the end of the turn, too",
            steps: [
                .waited(1), .deliveredInTurn("a", awaitsEnd: true), .asked(.fail(.internal)), .turnEnded(wakes: 1),
                .asked(chunk("a")),
            ]),
        Case(
            name: "a consumer that leaves within a turn is woken at once",
            steps: [
                .waited(1), .deliveredInTurn("a", awaitsEnd: true), .left(waiter: 1, cancels: true), .turnEnded(),
                .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "a new attempt within a turn keeps what has come",
            steps: [
                .waited(1), .deliveredInTurn("a", awaitsEnd: true), .started, .turnEnded(wakes: 1), .asked(chunk("a")),
            ]),
        Case(
            name: "bytes that came between asking and waiting are not lost",
            steps: [
                .asked(.wait), .delivered("a"), .waited(1, isWokenAtOnce: true), .asked(chunk("a")),
            ]),
        Case(
            name: "an end that came between asking and waiting is not lost",
            steps: [
                .asked(.wait), .ended(), .waited(1, isWokenAtOnce: true), .asked(.end),
            ]),
        Case(
            name: "the producer pauses at the high mark and goes on at the low one",
            steps: [
                .delivered(ten), .offered(.take), .delivered(ten), .offered(.pause),
                .asked(chunk(ten, resume: true)), .offered(.take), .asked(chunk(ten)),
            ]),
        Case(
            name: "the producer is resumed once",
            steps: [
                .delivered(ten), .delivered(ten), .offered(.pause), .offered(.pause),
                .asked(chunk(ten, resume: true)), .asked(chunk(ten)), .asked(.wait),
            ]),
        Case(
            name: "a producer that did not pause is not resumed",
            steps: [
                .delivered(ten), .delivered(ten), .asked(chunk(ten)), .asked(chunk(ten)),
            ]),
        Case(
            name: "above the low mark the producer stays paused",
            steps: [
                .delivered(ten), .delivered(ten), .delivered(ten), .offered(.pause),
                .asked(chunk(ten)), .offered(.pause), .asked(chunk(ten, resume: true)),
            ]),
        Case(
            name: "a new attempt is not paused by the last one's pause",
            steps: [
                .delivered(ten), .delivered(ten), .offered(.pause), .started, .asked(chunk(ten)), .asked(chunk(ten)),
            ]),
        Case(
            name: "a new attempt finds the consumer still waiting",
            steps: [
                .waited(1), .started, .delivered("a", wakes: 1),
            ]),
        Case(
            name: "what is buffered comes before the end, the end comes for ever",
            steps: [
                .delivered("a"), .ended(), .asked(chunk("a")), .asked(.end), .asked(.end),
            ]),
        Case(
            name: "what is buffered comes before the error, the error comes once",
            steps: [
                .delivered("a"), .ended(.truncated), .asked(chunk("a")), .asked(rethrown(.truncated)), .asked(.end),
            ]),
        Case(name: "a waiting consumer is woken by the end", steps: [.waited(1), .ended(wakes: 1), .asked(.end)]),
        Case(
            name: "a waiting consumer is woken by the error",
            steps: [
                .waited(1), .ended(.receiveFailed, wakes: 1), .asked(rethrown(.receiveFailed)), .asked(.end),
            ]),
        Case(
            name: "only the first end counts",
            steps: [
                .delivered("a"), .ended(), .ended(.truncated), .asked(chunk("a")), .asked(.end),
            ]),
        Case(
            name: "bytes after the end are dropped, and the producer is told",
            steps: [
                .ended(), .offered(.abort), .delivered("a"), .asked(.end), .offered(.abort), .delivered("b"),
                .asked(.end),
            ]),
        Case(
            name: "a second consumer is refused, the first keeps waiting",
            steps: [
                .waited(1), .asked(.fail(.internal)), .waited(2, isWokenAtOnce: true), .asked(.fail(.internal)),
                .delivered("a", wakes: 1),
            ]),
        Case(
            name: "a consumer that leaves cancels the producer once",
            steps: [
                .delivered("a"), .left(cancels: true), .left(cancels: false), .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "a waiting consumer that leaves is woken",
            steps: [
                .waited(1), .left(waiter: 1, cancels: true), .offered(.abort), .delivered("a"), .ended(),
                .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "a consumer that waits after it has left is woken at once",
            steps: [
                .asked(.wait), .left(cancels: true), .waited(1, isWokenAtOnce: true), .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "leaving after the producer has ended cancels nothing",
            steps: [
                .delivered("a"), .ended(), .left(cancels: false), .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "leaving after the end was read changes nothing",
            steps: [
                .ended(), .asked(.end), .left(cancels: false), .asked(.end),
            ]),
        Case(
            name: "a new attempt after the end or the leaving changes nothing",
            steps: [
                .left(cancels: true), .started, .offered(.abort),
            ]),
    ]

    @Test("every step is answered as it must be", arguments: cases)
    func table(_ testCase: Case) throws {
        var machine = Machine(watermarks: Self.marks)
        for step in testCase.steps {
            switch step {
            case .started: machine.producerStarted()
            case .offered(let expected): #expect(machine.producerOffered() == expected, "\(step)")
            case .delivered(let text, let waiter):
                Self.check(machine.producerDelivered(Data(text.utf8)), wakes: waiter, step)
            case .deliveredInTurn(let text, let awaitsEnd):
                let action = machine.producerDelivered(Data(text.utf8), hasTurns: true)
                if case .awaitEndOfTurn = action {
                    #expect(awaitsEnd, "\(step)")
                } else {
                    #expect(!awaitsEnd, "\(step)")
                }
            case .turnEnded(let waiter): Self.check(machine.turnEnded(), wakes: waiter, step)
            case .ended(let code, let waiter):
                let action = machine.producerFinished(code.map { CurlewError($0, phase: .receive) })
                Self.check(action, wakes: waiter, step)
            case .asked(let expected): #expect(machine.consumerAsked() == expected, "\(step)")
            case .waited(let waiter, let isWokenAtOnce):
                Self.check(machine.consumerWaited(waiter), wakes: isWokenAtOnce ? waiter : nil, step)
            case .left(let waiter, let cancels):
                let action = machine.consumerLeft()
                #expect(action.waiter == waiter, "\(step)")
                #expect(action.cancelProducer == cancels, "\(step)")
            }
        }
    }

    static func check(_ action: Machine.WakeAction, wakes waiter: Int?, _ step: Step) {
        switch action {
        case .none: #expect(waiter == nil, "no waiter was woken: \(step)")
        case .awaitEndOfTurn: Issue.record("awaits the end of a turn: \(step)")
        case .wake(let woken): #expect(woken == waiter, "\(step)")
        }
    }

    @Test("memory stays below the high mark and one chunk, whatever the order of events")
    func boundedUnderRandomOrder() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var machine = Machine(watermarks: BodyChannelWatermarks(high: 1000, low: 300))
            var paused = false
            var sent: [UInt8] = []
            var received: [UInt8] = []
            var next: UInt8 = 0
            for _ in 0..<300 {
                if Bool.random(using: &random) {
                    guard !paused else { continue }
                    switch machine.producerOffered() {
                    case .pause: paused = true
                    case .abort: Issue.record("aborted")
                    case .take:
                        let chunk = Data(repeating: next, count: Int.random(in: 1...200, using: &random))
                        next &+= 1
                        sent += chunk
                        if case .wake = machine.producerDelivered(chunk) { Issue.record("there is no waiter") }
                    }
                } else {
                    switch machine.consumerAsked() {
                    case .deliver(let chunk, let resume):
                        received += chunk
                        #expect(!resume || paused)
                        if resume { paused = false }
                    case .wait: #expect(!paused, "an empty channel with a paused producer would hang")
                    case .end, .fail, .rethrow: Issue.record("ended")
                    }
                }
                #expect(machine.bufferedCost < 1000 + 264)
            }
            _ = machine.producerFinished(nil)
            while case .deliver(let chunk, _) = machine.consumerAsked() { received += chunk }
            #expect(received == sent)
        }
    }

    @Test("single bytes reach the high mark too")
    func tinyChunksCount() {
        var machine = Machine(watermarks: BodyChannelWatermarks(high: 6500, low: 0))
        var taken = 0
        while machine.producerOffered() == .take, taken < 10_000 {
            _ = machine.producerDelivered(Data([0]))
            taken += 1
        }
        #expect(taken == 100)
    }

    @Test("marks are put in order")
    func marksAreSane() {
        #expect(BodyChannelWatermarks(high: 0, low: 5) == BodyChannelWatermarks(high: 1, low: 0))
        #expect(BodyChannelWatermarks(high: 10, low: 20).low == 9)
        #expect(BodyChannelWatermarks(high: 10, low: -1).low == 0)
    }
}
