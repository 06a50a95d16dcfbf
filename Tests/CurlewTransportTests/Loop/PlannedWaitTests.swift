import Testing

@testable import CurlewTransport

@Suite("Planned waits")
struct PlannedWaitTests {
    private let now = LoopInstant(nanoseconds: 5_000_000_000)
    private let later = LoopInstant(nanoseconds: 90_000_000_000)
    private let soon = LoopInstant(nanoseconds: 5_000_000_500)

    @Test func waitLastsUntilNextDeadline() {
        var wait = PlannedWait()
        wait.plan(until: later, at: now, isLent: true)
        #expect(wait.end == later)
        wait.plan(until: .never, at: now, isLent: true)
        #expect(wait.end == .never)
        #expect(wait.begin() == -1)
    }

    @Test func waitIsShortOnceAfterActivity() {
        var wait = PlannedWait()
        wait.isBusy = true
        wait.plan(until: .never, at: now, isLent: true)
        #expect(wait.end == now.advanced(byNanoseconds: PlannedWait.shortNanoseconds))
        wait.plan(until: .never, at: now, isLent: true)
        #expect(wait.end == .never)
    }

    @Test func shortWaitEndsAtEarlierDeadline() {
        var wait = PlannedWait()
        wait.isBusy = true
        wait.plan(until: soon, at: now, isLent: true)
        #expect(wait.end == soon)
    }

    @Test func waitIsNotShortenedIfTurnIsNotLent() {
        var wait = PlannedWait()
        wait.isBusy = true
        wait.plan(until: .never, at: now, isLent: false)
        #expect(wait.end == .never)
    }

    @Test func waitForPassedDeadlineIsZero() {
        var wait = PlannedWait()
        wait.plan(until: LoopInstant(nanoseconds: 1), at: now, isLent: true)
        #expect(wait.begin() == 0)
    }
}
