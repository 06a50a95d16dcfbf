internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

@Suite("Concurrency limits", .timeLimit(.minutes(4)))
struct ConcurrencyLimitTests {
    private static func outcome(_ latency: Duration, status: Int = 200) -> AttemptOutcome {
        AttemptOutcome(status: status, latency: latency)
    }

    @Test("a fixed limit does not change, whatever the outcomes are", arguments: 0..<20 as Range<UInt64>)
    func fixed(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 1...10, using: &random)
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.fixed(count).kind)
        var inFlight = 0
        for _ in 0..<500 {
            #expect(limiter.hasPlace == (inFlight < count) && limiter.inFlight == inFlight && limiter.limit == count)
            if limiter.hasPlace, Bool.random(using: &random) {
                limiter.take()
                inFlight += 1
            } else if inFlight > 0 {
                limiter.giveBack(Bool.random(using: &random) ? nil : Self.outcome(.seconds(5), status: 503))
                inFlight -= 1
            }
        }
    }

    /// Runs a full limiter against a server that serves `capacity` requests at a time in 10 ms each. Further requests
    /// wait in the server.
    private func settle(_ limiter: inout ConcurrencyLimiter, capacity: Int, rounds: Int) {
        for _ in 0..<rounds {
            while limiter.hasPlace { limiter.take() }
            let queued = max(1, Double(limiter.inFlight) / Double(capacity))
            limiter.giveBack(Self.outcome(.milliseconds(10) * queued))
        }
    }

    @Test("an adaptive limit grows to its ceiling while latency stays the same")
    func grows() {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 10, floor: 2, ceiling: 60).kind)
        settle(&limiter, capacity: 1_000, rounds: 2_000)
        #expect(limiter.limit == 60)
    }

    @Test(
        "latencies of clocks that jump keep an adaptive limit in its bounds, and it recovers",
        arguments: [-3_600, 3_600])
    func latencyJumps(seconds: Int) {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 20, floor: 4, ceiling: 60).kind)
        settle(&limiter, capacity: 1_000, rounds: 2_000)
        for _ in 0..<100 {
            limiter.take()
            limiter.giveBack(Self.outcome(.seconds(seconds)))
            #expect((4...60).contains(limiter.limit))
        }
        settle(&limiter, capacity: 1_000, rounds: 20_000)
        #expect(limiter.limit == 60)
    }

    @Test("an adaptive limit does not grow while its places are unused")
    func unused() {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 10).kind)
        for _ in 0..<100 {
            limiter.take()
            limiter.giveBack(Self.outcome(.milliseconds(10)))
        }
        #expect(limiter.limit == 10)
    }

    @Test("an adaptive limit shrinks when a server's capacity drops, and grows when it returns")
    func follows() {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 20, floor: 2, ceiling: 500).kind)
        settle(&limiter, capacity: 100, rounds: 2_000)
        let before = limiter.limit
        #expect(before > 60)
        settle(&limiter, capacity: 10, rounds: 1_000)
        #expect(limiter.limit < before / 2)
        settle(&limiter, capacity: 100, rounds: 2_000)
        #expect(limiter.limit > 60)
    }

    @Test("an adaptive limit does not hold back a server whose latency varies", arguments: 0..<10 as Range<UInt64>)
    func varying(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive().kind)
        for _ in 0..<10_000 {
            while limiter.hasPlace { limiter.take() }
            // Exponentially distributed: a fifth of them take more than one and a half of the mean.
            let share = -log(1 - Double.random(in: 0..<1, using: &random))
            limiter.giveBack(Self.outcome(.milliseconds(50) * share))
        }
        #expect(limiter.limit > 150)
    }

    @Test("an adaptive limit does not drift upward while a server is busy")
    func drift() {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 20, floor: 2, ceiling: 500).kind)
        settle(&limiter, capacity: 20, rounds: 1_000)
        #expect(limiter.limit < 60)
    }

    @Test("signs of overload bring an adaptive limit to its floor, and refused connections do not change it")
    func overload() {
        var limiter = ConcurrencyLimiter(ConcurrencyLimit.adaptive(initial: 50, floor: 3).kind)
        limiter.take()
        limiter.giveBack(AttemptOutcome(error: CurlewError(.connectFailed, phase: .connect), latency: .milliseconds(1)))
        #expect(limiter.limit == 50)
        for _ in 0..<100 {
            limiter.take()
            limiter.giveBack(Self.outcome(.milliseconds(10), status: 503))
        }
        #expect(limiter.limit == 3)
    }

    @Test("an adaptive limit stays between its floor and ceiling for any latencies", arguments: 0..<50 as Range<UInt64>)
    func bounds(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let floor = Int.random(in: -3...20, using: &random)
        let ceiling = Int.random(in: -3...200, using: &random)
        let limit = ConcurrencyLimit.adaptive(
            initial: .random(in: -9...300, using: &random), floor: floor, ceiling: ceiling)
        var limiter = ConcurrencyLimiter(limit.kind)
        for _ in 0..<500 {
            while limiter.hasPlace { limiter.take() }
            limiter.giveBack(Self.outcome(.microseconds(Int.random(in: -5...20_000_000, using: &random))))
            #expect(limiter.limit >= max(floor, 1) && limiter.limit <= max(ceiling, floor, 1))
        }
    }
}
