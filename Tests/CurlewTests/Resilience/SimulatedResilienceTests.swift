import CurlewCore
import ResilienceSimulation
import Testing

@testable import Curlew

/// Compares what `make bench-simulation` simulates with what sessions do. Here, because the tests of the simulation
/// itself do not see Curlew.
@Suite("Simulated resilience", .timeLimit(.minutes(4)))
struct SimulatedResilienceTests {
    /// Returns the numbers of a policy. A closure is a text without a value.
    private func text(_ policy: AdmissionPolicy) -> String {
        var text = ""
        dump(policy, to: &text)
        return text
    }

    @Test("the simulated standard has the parts and numbers of Resilience.standard")
    func standard() throws {
        let (simulated, standard) = (Stack.standard, Resilience.standard)
        #expect(text(simulated.policy) == text(standard.policy))
        var other = standard
        other.breaker?.openFor += .milliseconds(1)
        #expect(text(simulated.policy) != text(other.policy), "the text has the numbers")
        #expect((simulated.hedging == nil) == (standard.hedging == nil))
        for stack in [simulated, .budget, .budgetAndBreaker, .standardWithHedging] {
            let (budget, usual) = (try #require(stack.budget), try #require(standard.retryBudget))
            #expect(budget.ratio == usual.ratio)
            #expect(budget.minimumPerSecond == usual.minimumPerSecond)
            #expect(budget.capacity == usual.capacity)
        }
    }

    @Test("simulated calls are retried as often, and after the same pauses, as by a RetryPolicy")
    func retries() {
        let (policy, backoff) = (RetryPolicy(), Backoff())
        #expect(Scenario.herd().retryLimit == policy.retryLimit)
        #expect(backoff.base == policy.exponentialBackoffBase)
        #expect(backoff.scale == policy.exponentialBackoffScale)
    }
}
