internal import CurlewCore
internal import Testing

@testable internal import Curlew

@Suite("The remaining total timeout", .timeLimit(.minutes(4)))
struct TimeoutBudgetTests {
    @Test("the remaining time is at least zero, and nil without a limit")
    func remaining() {
        #expect(TimeoutBudget(total: .seconds(10), started: .now - .seconds(20)).remaining == .zero)
        let running = TimeoutBudget(total: .seconds(1000), started: .now - .seconds(100)).remaining
        #expect(running.map { .seconds(0) < $0 && $0 <= .seconds(900) } == true)
        #expect(TimeoutBudget.unlimited.remaining == nil)
    }
}
