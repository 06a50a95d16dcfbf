internal import CurlewCore

/// The values that a run needs during one attempt, read when that begins. `Attempt` has its history.
struct AttemptState: Sendable {
    /// Counts from 0.
    var number = 0
    /// The session's, then the request's own.
    var adapters: [any RequestAdapter] = []
    var hasRetriers = false
    /// nil without monitors.
    var events: EventSink?
    /// What the transport has to know of the request's options; nil where there is nothing.
    var options: Lowering.Wishes?
    /// Whether the request was cancelled before.
    var isCancelled = false
    /// The redirects that were followed.
    var hops: [RedirectHop] = []
    /// How many challenges the session's hook has answered.
    var answeredChallenges = 0
    /// A redirect led away from the origin that the request's credentials are for.
    var hasLeftCredentials = false

    /// The attempt, with a redirect that was followed.
    // A value: changing the array in place inside of `Run` would have every reader of `attempt` checked for exclusive access.
    func adding(_ hop: RedirectHop) -> AttemptState {
        var next = self
        next.hops.append(hop)
        return next
    }
}

extension Run {
    /// Names the attempt's first exchange, and reads what the request asks for by now.
    // Never inlined, as `Run` says of its steps.
    @inline(never)
    func beginAttempt() {
        let wishes = readWishes()
        switch membership {
        case .trying: task = session.nextTask(of: request, after: task)
        case .joined, .outside, .refused:
            membership = .trying
            if wishes.hasRetriers { request.paysIntoBudgets() }
            // A clock is only read for those who set it.
            if let total = wishes.totalTimeout, budget.total == nil {
                budget = TimeoutBudget(total: total, started: .now)
            }
        }
    }

    /// Describing a request ahead of its start is part of no attempt yet.
    func describesAhead() { _ = readWishes() }

    private func readWishes() -> AttemptWishes {
        let wishes = exchange(&firstWishes, with: nil) ?? request.attemptBegins()
        attempt = AttemptState(
            number: retries.count,
            adapters: wishes.adapters,
            hasRetriers: wishes.hasRetriers,
            events: wishes.events,
            options: wishes.options,
            isCancelled: wishes.isCancelled
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

/// What an attempt goes by, as its request has it when the attempt begins.
struct AttemptWishes: Sendable {
    let adapters: [any RequestAdapter]
    let hasRetriers: Bool
    let events: EventSink?
    let totalTimeout: Duration?
    let options: Lowering.Wishes?
    let isCancelled: Bool
}

extension RequestRecord {
    func wishes(in context: SessionContext) -> AttemptWishes {
        AttemptWishes(
            adapters: context.adapters(before: extras?.options.adapters ?? []),
            hasRetriers: context.hasInterceptor || extras?.options.retriers.isEmpty == false,
            events: EventSink(session: context.monitorQueues, own: extras?.hooks.monitorQueues ?? []),
            totalTimeout: (extras?.options.timeouts ?? context.configuration.timeouts).total,
            options: loweringWishes,
            isCancelled: isCancelled
        )
    }

    var loweringWishes: Lowering.Wishes? { extras.flatMap { Lowering.Wishes.any(in: $0.options) } }
}

extension SessionContext {
    /// The session's, then the request's own.
    fileprivate func adapters(before own: [any RequestAdapter]) -> [any RequestAdapter] {
        guard hasInterceptor, let interceptor else { return own }
        return [interceptor] + own
    }
}
