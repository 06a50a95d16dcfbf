package struct NeverHappened: Error {}

/// Returns when the condition holds. Polls, because some conditions cannot notify a waiter.
package func eventually(within timeout: Duration = .seconds(40), _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + timeout.asTestBound
    while !condition() {
        if ContinuousClock.now > deadline { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(1))
    }
}
