internal import CurlewCore

/// Carries out one request, from its description to its result. This page is the way of every request: a line is a step,
/// and each step has a file of its own in this folder.
///
/// Two loops, one in the other. The outer one tries again where a retrier wants that, and never looks at redirects. The
/// inner one goes where a response leads, and never looks at what a retrier might want.
///
/// An object, because every step asks it: as a value it was copied for each of them into the frames of the waiting task. It
/// belongs to the task that drives the request, and is not shared. Steps that do not wait are never inlined where their
/// temporaries would be part of those frames, which every request in flight has (`BENCH_ONLY=hold scripts/bench`).
final class Run {
    let request: Request
    let session: Session
    let rules: RunRules
    /// The total clock, which all attempts share.
    var budget = TimeoutBudget.unlimited
    /// How the run stands with the registry of its session.
    var membership = Membership.outside
    /// The identifier of the exchange in flight: every exchange has its own.
    var task = TaskIdentifier(rawValue: 0)
    var retries = RetryHistory()
    /// What belongs to one attempt, made anew for each.
    var attempt = AttemptState()
    /// A download whose response a retrier may want to replace.
    var heldDownload: HeldDownload?
    /// What the first attempt goes by, where that was read when the run began.
    var firstWishes: AttemptWishes?

    init(request: Request, session: Session, rules: RunRules, firstWishes: AttemptWishes? = nil) {
        self.request = request
        self.session = session
        self.rules = rules
        self.firstWishes = firstWishes
    }

    /// Tries until there is a result that no retrier wants to replace.
    func result() async -> RunResult {
        do throws(CurlewError) {
            if request.isSetUpAhead { try await untilPrepared() }  // Preparation.swift
            try enter()  // Membership.swift
        } catch {
            return RunResult(error: error)
        }
        while true {
            beginAttempt()  // AttemptState.swift
            let result = await attemptResult()
            guard mayBeReplaced(result) else { return result }
            switch await verdict(on: result) {  // Retry.swift
            case .end(let result): return result
            case .again: continue
            }
        }
    }

    /// One attempt: sends what the request describes, and whatever its responses ask to be sent next.
    private func attemptResult() async -> RunResult {
        do throws(CurlewError) {
            let described = try await described()  // Describe.swift, Adapt.swift
            var next = try lower(described)  // Lower.swift
            while true {
                while try !admits(&next) { try await request.untilLetGo(within: budget) }  // Admit.swift
                let exchange = await send(next)  // Exchange.swift
                guard exchange.mayLeadOn else { return await judge(exchange, failure: exchange.failure) }
                switch await followUp(exchange) {  // FollowUp.swift
                case .deliver: return await judge(exchange, failure: exchange.failure)  // Judge.swift
                case .refuse(let error): return await judge(exchange, failure: error)
                case .send(let hop): next = hop
                }
            }
        } catch {
            return failed(with: error)  // Judge.swift
        }
    }
}
