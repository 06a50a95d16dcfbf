import CurlewCore
import Testing

@Suite("Backoff, retry budget, total timeout", .timeLimit(.minutes(4)))
struct BackoffTests {
    static let delays: [(Backoff, Int, Double)] = [
        (Backoff(jitter: .none), 0, 0.5), (Backoff(jitter: .none), 1, 1), (Backoff(jitter: .none), 3, 4),
        (Backoff(jitter: .none), 50, 60), (Backoff(jitter: .none), 10_000, 60), (Backoff(jitter: .none), -3, 0.5),
        (Backoff(base: 0, jitter: .none), 4, 0.5), (Backoff(scale: -1, jitter: .none), 4, 0),
        (Backoff(scale: .nan, jitter: .none), 4, 0), (Backoff(scale: .infinity, jitter: .none), 4, 60),
    ]

    @Test("the delay grows exponentially up to the maximum", arguments: delays)
    func exponential(backoff: Backoff, retry: Int, seconds: Double) {
        var generator = SystemRandomNumberGenerator()
        let delay = backoff.delay(beforeRetry: retry, using: &generator)
        #expect(delay == .seconds(seconds))
    }

    @Test("full jitter varies the delay between zero and its full length")
    func jitter() {
        var zeros = Fixed(value: 0)
        var ones = Fixed(value: .max)
        let backoff = Backoff()
        let least = backoff.delay(beforeRetry: 2, using: &zeros)
        let most = backoff.delay(beforeRetry: 2, using: &ones)
        #expect(least == .zero)
        #expect(most > .milliseconds(1999) && most <= .seconds(2))
    }

    @Test("Retry-After is the least delay, and is limited to the maximum")
    func retryAfter() {
        var zeros = Fixed(value: 0)
        let backoff = Backoff(maximum: .seconds(10))
        let delays = [3, 3600].map { backoff.delay(beforeRetry: 0, retryAfter: .seconds($0), using: &zeros) }
        #expect(delays == [.seconds(3), .seconds(10)])
    }

    @Test("the retry budget permits a burst, then a share of the requests, then what accrues with time")
    func budget() {
        let start = ContinuousClock.now
        var budget = RetryTokenBucket(ratio: 0.5, minimumPerSecond: 1, capacity: 3, now: start)
        var answers = (0..<5).map { _ in budget.retryWanted(at: start) }
        #expect(answers == [true, true, true, false, false])

        answers = []
        for _ in 0..<2 {
            budget.requestStarted(at: start)
            answers.append(budget.retryWanted(at: start))
        }
        answers.append(budget.retryWanted(at: start + .milliseconds(900)))
        answers.append(budget.retryWanted(at: start + .milliseconds(1100)))
        // A clock that is set back adds no tokens. However much time passes, the bucket holds at most its capacity.
        answers.append(budget.retryWanted(at: start))
        #expect(answers == [false, true, false, true, false])
        answers = (0..<5).map { _ in budget.retryWanted(at: start + .seconds(900)) }
        #expect(answers == [true, true, true, false, false])
    }

    @Test("the remaining time of the total timeout ends at zero, and limits delays")
    func total() {
        let start = ContinuousClock.now
        let budget = TimeoutBudget(total: .seconds(10), started: start)
        #expect(budget.remaining(at: start + .seconds(4)) == .seconds(6))
        #expect(budget.remaining(at: start + .seconds(40)) == .zero)
        #expect(budget.remaining(at: start + .seconds(9)) == .seconds(1))
        #expect(budget.remaining(at: start + .seconds(10)) == .zero)
        #expect(budget.allows(.seconds(5), at: start + .seconds(4)))
        #expect(!budget.allows(.seconds(6), at: start + .seconds(4)))

        let endless = TimeoutBudget.unlimited
        #expect(endless.remaining(at: start) == nil)
        #expect(endless.remaining(at: start + .seconds(1_000_000)) == nil)
        #expect(endless.allows(.seconds(1_000_000), at: start))
    }
}

@Suite("Retries without a pause", .timeLimit(.minutes(4)))
struct RetryPacingTests {
    @Test("the first retries are immediate, later ones wait up to a second, and after the limit there are none")
    func immediate() {
        var pacing = RetryPacing()
        let pauses = (0..<100).map { _ in pacing.pause(asked: .zero, after: .zero) }
        #expect(pauses.prefix(5).allSatisfy { $0 == .zero })
        let growing: [Duration] = [10, 20, 40, 80, 160, 320, 640, 1000, 1000].map { .milliseconds($0) }
        #expect(pauses.dropFirst(5).prefix(9).elementsEqual(growing))
        #expect(pauses.last == .seconds(1))
        #expect(pacing.pause(asked: .zero, after: .zero) == nil)
        #expect(pacing.pause(asked: .milliseconds(49), after: .zero) == nil)
    }

    @Test(
        "a retry after 50 ms or more is not counted",
        arguments: [(50, 0), (0, 50), (25, 25), (60_000, 0), (0, 60_000)])
    func paused(asked: Int, waited: Int) {
        var pacing = RetryPacing(immediateRetries: 99)
        for _ in 0..<1000 {
            let pause = pacing.pause(asked: .milliseconds(asked), after: .milliseconds(waited))
            #expect(pause == .milliseconds(asked))
        }
        #expect(pacing == RetryPacing(immediateRetries: 99))
    }

    @Test("a short pause that was asked for is never made shorter")
    func short() {
        var pacing = RetryPacing(immediateRetries: 5)
        #expect(pacing.pause(asked: .milliseconds(30), after: .zero) == .milliseconds(30))
        #expect(pacing.pause(asked: .milliseconds(5), after: .milliseconds(1)) == .milliseconds(20))
    }
}

private struct Fixed: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
}
