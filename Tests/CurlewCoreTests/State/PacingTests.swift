import CurlewCore
import Testing

@Suite("Pacing")
struct PacingTests {
    /// Returns the milliseconds at which a value is reported that changes every millisecond until `last`.
    private func tellings(every interval: Double, last: Int = 1000) -> [Int] {
        var pacing = Pacing(interval: interval)
        var planned: (time: Int, ticket: Int)?
        var told: [Int] = []
        for time in 0...last {
            let now = Double(time) / 1000
            if let plan = planned, plan.time <= time {
                planned = nil
                if pacing.tells(plan.ticket, at: now) { told.append(time) }
            }
            switch pacing.changed(at: now, isLast: time == last) {
            case .none: break
            case .tellNow(let ticket): if pacing.tells(ticket, at: now) { told.append(time) }
            case .tell(let after, let ticket): planned = (time + Int((after * 1000).rounded(.up)), ticket)
            }
        }
        return told
    }

    @Test("the first and the last at once, the others at intervals")
    func intervals() {
        let told = tellings(every: 0.05)
        #expect(told.first == 0 && told.last == 1000)
        #expect((20...22).contains(told.count))
        #expect(zip(told.dropLast(), told.dropFirst().dropLast()).allSatisfy { $1 - $0 >= 50 })
        #expect(tellings(every: 0) == Array(0...1000))
        #expect(tellings(every: -1).count == 1001)
        #expect(tellings(every: 100) == [0, 1000])
    }

    @Test("what came too early is told when its time comes, unless the end is first")
    func waiting() {
        var pacing = Pacing(interval: 1)
        let first = pacing.changed(at: 0, isLast: false)
        #expect(first == .tellNow(ticket: 1))
        let second = pacing.changed(at: 0, isLast: false)
        #expect(second == .none, "the one that is on its way tells it")
        let turns = [pacing.tells(1, at: 0), pacing.tells(1, at: 0)]
        #expect(turns == [true, false])
        let third = pacing.changed(at: 0.25, isLast: false)
        #expect(third == .tell(after: 0.75, ticket: 2))
        let fourth = pacing.changed(at: 0.5, isLast: false)
        #expect(fourth == .none)
        let end = pacing.ended()
        #expect(end == .tellNow(ticket: 3))
        let lastTurns = [pacing.tells(3, at: 0.5), pacing.tells(2, at: 1)]
        #expect(lastTurns == [true, false], "the second one was overtaken")
        let nothing = pacing.ended()
        #expect(nothing == .none)
    }
}
