import CurlewCore
import Testing

@Suite("Transfer rate", .timeLimit(.minutes(4)))
struct TransferRateTests {
    @Test("the rate of a steady stream is right, early and late", arguments: [0.2, 1.0, 10, 100])
    func steady(_ seconds: Double) throws {
        var rate = TransferRate()
        rate.start(at: 50)
        for step in 1...Int(seconds * 100) { rate.update(completed: Int64(step) * 1000, at: 50 + Double(step) / 100) }
        let speed = try #require(rate.bytesPerSecond(at: 50 + seconds))
        #expect(abs(speed - 100_000) < 2_000)
    }

    @Test("the rate follows a change within a few half-lives")
    func change() throws {
        var rate = TransferRate(halfLife: 1)
        rate.start(at: 0)
        var bytes: Int64 = 0
        for step in 1...1000 {
            bytes += 10
            rate.update(completed: bytes, at: Double(step) / 100)
        }
        for step in 1001...1800 {
            bytes += 100
            rate.update(completed: bytes, at: Double(step) / 100)
        }
        let speed = try #require(rate.bytesPerSecond(at: 18))
        #expect(abs(speed - 10_000) < 200)
    }

    @Test("the rate falls during a stall, and there is no remaining time after a long one")
    func stall() throws {
        var rate = TransferRate(halfLife: 3)
        rate.start(at: 0)
        rate.update(completed: 30_000, at: 1)
        let moving = try #require(rate.bytesPerSecond(at: 1))
        let stalled = try #require(rate.bytesPerSecond(at: 31))
        #expect(stalled < moving / 500)
        #expect(rate.remainingTime(of: 30_001, at: 1000) == nil, "no promise without movement")
    }

    @Test("the remaining time is the remaining size divided by the rate")
    func remaining() throws {
        var rate = TransferRate()
        rate.start(at: 0, completed: 5000)
        for step in 1...1000 { rate.update(completed: 5000 + Int64(step) * 10, at: Double(step) / 100) }
        let seconds = try #require(rate.remainingTime(of: 25_000, at: 10))
        #expect(abs(seconds - 10) < 0.2, "bytes that were there at the start made nothing faster")
        #expect(rate.remainingTime(of: 15_000, at: 10) == 0)
        #expect(rate.remainingTime(of: 10, at: 10) == nil)
        #expect(rate.remainingTime(of: -1, at: 10) == nil)
    }

    @Test("there is no rate at first, and a clock that stops or goes back does no harm")
    func edges() {
        var rate = TransferRate()
        #expect(rate.bytesPerSecond(at: 1) == nil)
        rate.update(completed: 10, at: 1)
        #expect(rate.bytesPerSecond(at: 1) == nil)
        rate.update(completed: 20, at: 1)
        rate.update(completed: 30, at: 0.5)
        #expect(rate.bytesPerSecond(at: 1.01) == nil)
        #expect(rate.bytesPerSecond(at: 2).map { $0 > 0 && $0.isFinite } == true)
    }

    @Test("the rate starts over with a new attempt")
    func retry() throws {
        var rate = TransferRate()
        rate.start(at: 0)
        rate.update(completed: 1_000_000, at: 1)
        rate.update(completed: 0, at: 2)
        rate.update(completed: 1000, at: 3)
        let speed = try #require(rate.bytesPerSecond(at: 3))
        #expect(abs(speed - 1000) < 200)
    }
}

@Suite("Pacing of progress reports")
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

    @Test("the first and the last change are reported at once, and the others at intervals")
    func intervals() {
        let told = tellings(every: 0.05)
        #expect(told.first == 0 && told.last == 1000)
        #expect((20...22).contains(told.count))
        #expect(zip(told.dropLast(), told.dropFirst().dropLast()).allSatisfy { $1 - $0 >= 50 })
        #expect(tellings(every: 0) == Array(0...1000))
        #expect(tellings(every: -1).count == 1001)
        #expect(tellings(every: 100) == [0, 1000])
    }

    @Test("a change before the end of the interval is reported after it, unless the transfer ends first")
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
