internal import CurlewCore

/// What belongs to one attempt of a run.
struct Attempt: Sendable {
    /// Counts from 0.
    var number = 0
    /// The session's, then the request's own.
    var adapters: [any RequestAdapter] = []
    var hasRetriers = false
    /// nil without monitors.
    var events: EventSink?
    /// The redirects that were followed.
    var hops: [RedirectHop] = []
    /// How many challenges the session's hook has answered.
    var answeredChallenges = 0
    /// A redirect led away from the origin that the request's credentials are for.
    var hasLeftCredentials = false
}

extension Run {
    /// Names the attempt's first exchange, and reads what the request asks for by now.
    mutating func beginAttempt() {
        let wishes = readWishes()
        switch membership {
        case .trying: task = session.nextTask(of: request, after: task)
        case .joined, .outside, .refused:
            membership = .trying
            // A clock is only read for those who set it.
            if let total = wishes.totalTimeout, budget.total == nil {
                budget = TimeoutBudget(total: total, started: .now)
            }
        }
    }

    /// Describing a request ahead of its start is part of no attempt yet.
    mutating func describesAhead() { _ = readWishes() }

    private mutating func readWishes() -> AttemptWishes {
        let wishes = request.attemptBegins()
        attempt = Attempt(
            number: retries.count,
            adapters: wishes.adapters,
            hasRetriers: wishes.hasRetriers,
            events: wishes.events
        )
        return wishes
    }

    var events: EventSink? { attempt.events }

    /// Runs code that is not Curlew's: `cancel()` and the total clock end it.
    func foreign<T: Sendable>(
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await request.foreign(ownsTask: rules.ownsTask, budget: budget, in: phase, work)
    }
}

/// What an attempt asks its request for.
struct AttemptWishes {
    let adapters: [any RequestAdapter]
    let hasRetriers: Bool
    let events: EventSink?
    let totalTimeout: Duration?
}
