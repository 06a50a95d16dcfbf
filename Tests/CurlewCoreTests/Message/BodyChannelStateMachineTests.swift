import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("Decisions of a body channel", .timeLimit(.minutes(4)))
struct BodyChannelStateMachineTests {
    typealias Machine = BodyChannelStateMachine<Int>

    /// An event of a channel, and its expected result.
    enum Step: Sendable, CustomStringConvertible {
        case started
        case offered(Machine.OfferAction, held: Int = 0)
        case delivered([String], wakes: Int? = nil)
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

    static func pieces(_ texts: String..., resume: Bool = false) -> Machine.TakeAction {
        .deliver(texts.map { Data($0.utf8) }, resumeProducer: resume)
    }

    static func rethrown(_ code: CurlewError.Code) -> Machine.TakeAction {
        .rethrow(Machine.FinishedWith(error: CurlewError(code, phase: .receive)))
    }

    // A piece of n bytes counts as n + 64, so two pieces of 10 bytes reach this mark (148 ≥ 140) and pause the
    // producer.
    static let mark = 140
    static let ten = "0123456789"

    static let cases: [Case] = [
        Case(
            name: "all that is there is handed out at once, in order",
            steps: [
                .offered(.take), .delivered(["a"]), .delivered(["b", "c"]), .asked(pieces("a", "b", "c")),
                .asked(.wait),
            ]),
        Case(
            name: "a waiting consumer is woken, and finds the bytes",
            steps: [
                .asked(.wait), .waited(1), .offered(.take), .delivered(["a"], wakes: 1), .asked(pieces("a")),
                .asked(.wait),
            ]),
        Case(
            name: "a consumer that is woken once finds all that has come until it runs",
            steps: [
                .waited(1), .delivered(["a"], wakes: 1), .delivered(["b"]), .asked(pieces("a", "b")), .asked(.wait),
            ]),
        Case(
            name: "a turn without bytes wakes nothing, and a consumer waits on",
            steps: [.waited(1), .delivered([]), .delivered(["a"], wakes: 1), .delivered([]), .asked(pieces("a"))]),
        Case(
            name: "what the producer holds itself counts, and pauses it",
            steps: [
                .delivered([ten]), .offered(.take, held: 65), .offered(.pause, held: 66),
                .asked(pieces(ten, resume: true)), .offered(.take, held: 66), .asked(.wait),
            ]),
        Case(
            name: "a turn that holds too much pauses the producer, whose consumer waits",
            steps: [
                .waited(1), .offered(.take, held: 139), .offered(.pause, held: 140), .delivered([ten], wakes: 1),
                .asked(pieces(ten, resume: true)), .asked(.wait),
            ]),
        Case(
            name: "a new attempt is not paused by what the last one held",
            steps: [
                .waited(1), .offered(.pause, held: 140), .started, .delivered(["a"], wakes: 1), .asked(pieces("a")),
            ]),
        Case(
            name: "bytes that came between asking and waiting are not lost",
            steps: [
                .asked(.wait), .delivered(["a"]), .waited(1, isWokenAtOnce: true), .asked(pieces("a")),
            ]),
        Case(
            name: "an end that came between asking and waiting is not lost",
            steps: [
                .asked(.wait), .ended(), .waited(1, isWokenAtOnce: true), .asked(.end),
            ]),
        Case(
            name: "the producer pauses at the mark and goes on when all was taken",
            steps: [
                .delivered([ten]), .offered(.take), .delivered([ten]), .offered(.pause),
                .asked(pieces(ten, ten, resume: true)), .offered(.take), .asked(.wait),
            ]),
        Case(
            name: "the producer is resumed once",
            steps: [
                .delivered([ten]), .delivered([ten]), .offered(.pause), .offered(.pause),
                .asked(pieces(ten, ten, resume: true)), .asked(.wait), .delivered([ten]), .asked(pieces(ten)),
            ]),
        Case(
            name: "a producer that did not pause is not resumed",
            steps: [.delivered([ten]), .delivered([ten]), .asked(pieces(ten, ten))]),
        Case(
            name: "a new attempt is not paused by the last one's pause",
            steps: [.delivered([ten]), .delivered([ten]), .offered(.pause), .started, .asked(pieces(ten, ten))]),
        Case(
            name: "a new attempt finds the consumer still waiting",
            steps: [
                .waited(1), .started, .delivered(["a"], wakes: 1),
            ]),
        Case(
            name: "what is buffered comes before the end, the end comes for ever",
            steps: [
                .delivered(["a"]), .ended(), .asked(pieces("a")), .asked(.end), .asked(.end),
            ]),
        Case(
            name: "what is buffered comes before the error, the error comes once",
            steps: [
                .delivered(["a"]), .ended(.truncated), .asked(pieces("a")), .asked(rethrown(.truncated)), .asked(.end),
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
                .delivered(["a"]), .ended(), .ended(.truncated), .asked(pieces("a")), .asked(.end),
            ]),
        Case(
            name: "bytes after the end are dropped, and the producer is told",
            steps: [
                .ended(), .offered(.abort), .delivered(["a"]), .asked(.end), .offered(.abort), .delivered(["b"]),
                .asked(.end),
            ]),
        Case(
            name: "a second consumer is refused, the first keeps waiting",
            steps: [
                .waited(1), .asked(.fail(.bodyUnavailable)), .waited(2, isWokenAtOnce: true),
                .asked(.fail(.bodyUnavailable)),
                .delivered(["a"], wakes: 1),
            ]),
        Case(
            name: "a consumer that leaves cancels the producer once",
            steps: [
                .delivered(["a"]), .left(cancels: true), .left(cancels: false), .asked(.fail(.cancelled)),
            ]),
        Case(
            name: "a waiting consumer that leaves is woken",
            steps: [
                .waited(1), .left(waiter: 1, cancels: true), .offered(.abort), .delivered(["a"]), .ended(),
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
                .delivered(["a"]), .ended(), .left(cancels: false), .asked(.fail(.cancelled)),
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

    @Test("every event of a channel has the expected result", arguments: cases)
    func table(_ testCase: Case) throws {
        var machine = Machine(mark: Self.mark)
        for step in testCase.steps {
            switch step {
            case .started: machine.producerStarted()
            case .offered(let expected, let held):
                #expect(machine.producerOffered(held: held) == expected, "\(step)")
            case .delivered(let texts, let waiter):
                Self.check(machine.producerDelivered(texts.map { Data($0.utf8) }), wakes: waiter, step)
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
        case .wake(let woken): #expect(woken == waiter, "\(step)")
        }
    }

    @Test("the buffered cost stays below the mark plus one piece, in random orders of events")
    func boundedUnderRandomOrder() {
        for seed in 0..<200 {
            var random = SplitMix(seed: UInt64(seed))
            var machine = Machine(mark: 1000)
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
                        if case .wake = machine.producerDelivered([chunk]) { Issue.record("there is no waiter") }
                    }
                } else {
                    switch machine.consumerAsked() {
                    case .deliver(let pieces, let resume):
                        received += pieces.joined()
                        #expect(!resume || paused)
                        if resume { paused = false }
                    case .wait: #expect(!paused, "an empty channel with a paused producer would hang")
                    case .end, .fail, .rethrow: Issue.record("ended")
                    }
                }
                #expect(machine.bufferedCost < 1000 + 264)
            }
            _ = machine.producerFinished(nil)
            while case .deliver(let pieces, _) = machine.consumerAsked() { received += pieces.joined() }
            #expect(received == sent, "seed \(seed)")
        }
    }

    @Test("pieces of one byte reach the mark, too")
    func tinyChunksCount() {
        var machine = Machine(mark: 6500)
        var taken = 0
        while machine.producerOffered() == .take, taken < 10_000 {
            _ = machine.producerDelivered([Data([0])])
            taken += 1
        }
        #expect(taken == 100)
    }

    @Test("with a mark of zero, one piece is still accepted")
    func leastMark() {
        var machine = Machine(mark: 0)
        #expect(machine.producerOffered() == .take)
        _ = machine.producerDelivered([Data([0])])
        #expect(machine.producerOffered() == .pause)
    }
}
