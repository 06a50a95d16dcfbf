internal import CurlewCore

/// Carries out one request, from its description to its result. This file is the path of every request: a line is a
/// step, and each step has its file in this folder.
///
/// Two nested loops. The outer one repeats the attempt if a retrier wants that, and does not see redirects. The inner
/// one follows redirects and challenges, and does not see retriers.
///
/// A run belongs to the task that drives the request, and is not shared. Steps that do not wait are never inlined,
/// because their temporaries would enlarge the frame of the waiting task, which every request in flight has
/// (`BENCH_ONLY=hold scripts/bench`).
final class Run {
    let request: Request
    let session: Session
    let rules: RunRules
    /// The total timeout, which all attempts share.
    var budget = TimeoutBudget.unlimited
    /// The relation of the run to the registry of its session.
    var membership = Membership.outside
    /// The identifier of the exchange in flight. Every exchange has another.
    var task = TaskIdentifier(rawValue: 0)
    var retries = RetryHistory()
    /// The values of the current attempt.
    var attempt = AttemptState()
    /// A download whose response a retrier may still replace.
    var heldDownload: HeldDownload?
    /// The options for the first attempt, if they were read when the run began.
    var firstWishes: AttemptWishes?

    init(request: Request, session: Session, rules: RunRules, firstWishes: AttemptWishes? = nil) {
        self.request = request
        self.session = session
        self.rules = rules
        self.firstWishes = firstWishes
    }

    /// Repeats the attempt until there is a result that no retrier wants to replace.
    func result() async -> RunResult {
        do throws(CurlewError) {
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

    /// Carries out one attempt: sends the described request, and then the requests that its responses ask for.
    private func attemptResult() async -> RunResult {
        do throws(CurlewError) {
            let described = try await described()  // Describe.swift, Adapt.swift
            var next = try lower(described)  // Lower.swift
            while true {
                let isHeld = try begin(next)  // Begin.swift
                let exchange = await send(next, isHeld: isHeld)  // Exchange.swift
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
