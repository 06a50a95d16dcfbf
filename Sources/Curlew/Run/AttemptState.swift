internal import CurlewCore

/// The values that a run needs during one attempt, read when the attempt begins. `Attempt` has the attempt's history.
struct AttemptState: Sendable {
    /// The number of the attempt, counted from 0.
    var number = 0
    /// The session's adapter, then the request's own.
    var adapters: [any RequestAdapter] = []
    var hasRetriers = false
    /// `nil` without monitors.
    var events: EventSink?
    /// The options of the request that concern the transport. `nil` if there are none.
    var options: Lowering.Wishes?
    /// Whether the request was resumed, or its result asked for, before these values were read.
    var isAskedFor = true
    /// Whether the request was cancelled before the attempt.
    var isCancelled = false
    /// The redirects that were followed in this attempt.
    var hops: [RedirectHop] = []
    /// The number of challenges that the session's hook has answered.
    var answeredChallenges = 0
    /// Whether a redirect left the origin that the request's credentials are for.
    var hasLeftCredentials = false

    /// Returns the state with another followed redirect.
    func adding(_ hop: RedirectHop) -> AttemptState {
        var next = self
        next.hops.append(hop)
        return next
    }
}

extension Run {
    /// Names the attempt's first exchange and reads the request's current options.
    // Never inlined; see `Run`.
    @inline(never)
    func beginAttempt() {
        let wishes = readOptions()
        switch membership {
        case .trying: task = session.nextTask(of: request, after: task)
        case .joined, .outside, .refused:
            membership = .trying
            if wishes.hasRetriers { request.paysIntoBudgets() }
        }
    }

    /// Reads the request's current options, before an exchange of the attempt has been sent.
    @discardableResult
    func readOptions() -> AttemptWishes {
        let wishes = exchange(&firstWishes, with: nil) ?? request.attemptBegins()
        attempt = AttemptState(
            number: retries.count,
            adapters: wishes.adapters,
            hasRetriers: wishes.hasRetriers,
            events: wishes.events,
            options: wishes.options,
            isAskedFor: wishes.isAskedFor,
            isCancelled: wishes.isCancelled
        )
        // The total timeout starts with the first attempt, but not before the result is asked for.
        if let total = wishes.totalTimeout, wishes.isAskedFor, budget.total == nil {
            budget = TimeoutBudget(total: total, started: .now)
        }
        return wishes
    }

    var events: EventSink? { attempt.events }

    /// Runs user code. `cancel()` and the total timeout end it.
    func foreign<T: Sendable>(
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await request.foreign(ownsTask: rules.ownsTask, budget: budget, in: phase, work)
    }
}

/// The request's options for an attempt, read in one step when the attempt begins.
struct AttemptWishes: Sendable {
    let adapters: [any RequestAdapter]
    let hasRetriers: Bool
    let events: EventSink?
    let totalTimeout: Duration?
    let options: Lowering.Wishes?
    /// Whether the request was resumed, or its result asked for.
    let isAskedFor: Bool
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
            isAskedFor: isAskedFor,
            isCancelled: isCancelled
        )
    }

    var loweringWishes: Lowering.Wishes? { extras.flatMap { Lowering.Wishes.any(in: $0.options) } }
}

extension SessionContext {
    /// Returns the session's adapter, then the request's own.
    fileprivate func adapters(before own: [any RequestAdapter]) -> [any RequestAdapter] {
        guard hasInterceptor, let interceptor else { return own }
        return [interceptor] + own
    }
}
