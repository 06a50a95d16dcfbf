internal import CurlewCore
internal import CurlewLocks

/// Carries out one request, from its description to its result. This file shows the steps between joining the session's
/// registry and the result; steps in other files are named with their file. `Drivers.swift` starts and ends runs.
///
/// Three loops, each inside the one before. Each loop has its own reason to repeat:
///
///     makeValue, UnstructuredDriver.drive   repeat `result` if no value can be made from it and a retrier wants
///     │                                     another attempt: the first for awaiting methods, the second for handlers
///     └─ result                             repeats the attempt if a retrier wants that after its failure or status,
///        │                                  a WebSocket connects again, or a download starts over
///        └─ attemptResult                   sends another exchange of the attempt, after a redirect or a challenge
///
/// A run belongs to the task that drives the request, and is not shared. Functions that are marked `@inline(never)`
/// keep their temporaries out of the frame of the waiting task, which every request in flight has
/// (`BENCH_ONLY=hold scripts/bench`).
final class Run {
    let request: Request
    let session: Session
    /// Whether a status outside 200..<300 is an error unless the request has its own validation.
    let checksStatus: Bool
    /// Whether Curlew started the driver's task, and may cancel it.
    let ownsTask: Bool
    /// The total timeout, which all attempts share.
    var budget = TimeoutBudget.unlimited
    /// The identifier of the current exchange, under which the session's registry lists the request. Each exchange gets
    /// a new one, except a request that is sent again with stored credentials.
    var exchangeID: TaskIdentifier
    private var hasBegun = false
    /// The number of exchanges that have begun, in all attempts.
    var sendCount = 0
    var retries = RetryHistory()
    /// The values of the current attempt.
    var attempt = OngoingAttempt()
    /// The admission of the current attempt. `nil` without resilience.
    var admission: AdmittedAttempt?
    /// The endpoints of the attempts. `nil` if none has used the session's group.
    var endpoints: UsedEndpoints?
    /// A download whose response a retrier may still replace.
    var undecidedDownload: UndecidedDownload?
    /// The options for the first attempt, if `beginAwaiting` has read them. `nil` after the attempt has begun.
    var firstOptions: AttemptOptions?

    /// Adds the request to the session's registry: from now on, cancelling and draining the session include it. Throws
    /// if the session takes no more requests. Call `leave()` once the run and its clean-up have ended.
    init(
        request: Request,
        session: Session,
        checksStatus: Bool,
        ownsTask: Bool,
        firstOptions: AttemptOptions? = nil
    ) throws(CurlewError) {
        self.request = request
        self.session = session
        self.checksStatus = checksStatus
        self.ownsTask = ownsTask
        self.firstOptions = firstOptions
        if let refusal = session.refusal { throw refusal }
        exchangeID = try session.registry.withLock { registry throws(CurlewError) in try registry.join(request) }
    }

    /// Removes the request from the registry, and resumes the waits for its end.
    func leave() {
        for ended in session.registry.withLock({ $0.leave(request, last: exchangeID) }) { ended.resolve(()) }
    }

    /// Repeats the attempt until there is a result that no retrier wants to replace.
    func result() async -> RunResult {
        while true {
            beginAttempt()
            let result = await attemptResult()
            if admission != nil || endpoints != nil { recordOutcome(of: result) }  // Run+Admission.swift
            // A retrier may refuse a status that the awaiting method accepts. Status 200 is exempt, to keep the plain
            // path short.
            let mayBeRefused = attempt.options.hasRetriers && result.response?.head.status != 200
            guard result.error != nil || mayBeRefused || request.opensWebSocket else { return result }
            if case .end(let last) = await retryOrEnd(after: result) { return last }  // Retry.swift
        }
    }

    /// Carries out one attempt: sends the first request, and then the requests that its responses ask for.
    private func attemptResult() async -> RunResult {
        do throws(CurlewError) {
            var next = try await firstRequest()  // Prepare.swift
            if let control = request.context.resilience, control.admitsAttempts {
                try await admit(&next, by: control)  // Run+Admission.swift
            }
            while true {
                let exchange = try await send(next)  // Send.swift
                guard exchange.outcomeForFollowUp != nil else { return await finish(exchange) }  // Finish.swift
                switch await followUp(exchange) {  // FollowUp.swift
                case .deliver: return await finish(exchange)
                case .refuse(let error): return await finish(exchange, refusing: error)
                case .send(let another): next = another
                }
            }
        } catch {
            return failed(with: error)  // Finish.swift
        }
    }
}

// MARK: The attempt

/// The attempt that a run carries out. `Attempt` is the record of one, which users see.
struct OngoingAttempt: Sendable {
    /// The number of the attempt, counted from 0.
    var number = 0
    var options = AttemptOptions()
    /// The redirects that were followed in this attempt.
    var hops: [RedirectHop] = []
    /// The number of challenges that the session's hook has answered.
    var answeredChallenges = 0
    /// Whether a redirect left the origin that the request's credentials are for.
    var hasLeftCredentials = false
    /// Whether the request has to be repeated at once: the response to a range was of no use, so the next attempt asks
    /// for the whole file.
    var startsOver = false

    /// Whether another attempt would end like this one: it would be redirected away from its credentials again, and get
    /// the same 401. Reads `hasLeftCredentials`, which `Run.follow` sets.
    func wouldBeRefusedAgain(_ result: RunResult) -> Bool {
        hasLeftCredentials && (result.error?.responseCode ?? result.response?.head.status) == 401
    }
}

/// The options that an attempt needs before and while it is sent, read in one step when the attempt begins. Those for
/// the transport are read by `Run.transferRequest`, because adapters may set them.
struct AttemptOptions: Sendable {
    /// The session's adapter, then the request's own.
    var adapters: [any RequestAdapter] = []
    var hasRetriers = false
    /// `nil` without exchange adapters and middleware.
    var interceptors: ExchangeInterceptors?
    /// `nil` without monitors.
    var events: EventSink?
    var totalTimeout: Duration?
    /// `RequestLifecycle.hasDemand` when the options were read.
    var sawDemand = true
    /// Whether the request was cancelled before the attempt.
    var isCancelled = false
}

extension Run {
    /// Begins an attempt: takes an identifier for its first exchange, and reads the request's current options.
    // Never inlined: see `Run`.
    @inline(never)
    func beginAttempt() {
        readOptions()
        if hasBegun {
            exchangeID = session.registry.withLock { $0.nextExchangeID(of: request, after: exchangeID) }
        } else {
            hasBegun = true
            if attempt.options.hasRetriers { request.paysIntoBudgets() }
        }
    }

    /// Reads the request's current options, before an exchange of the attempt has been sent.
    func readOptions() {
        let options =
            exchange(&firstOptions, with: nil)
            ?? request.record.withLock { $0.attemptOptions(in: request.context) }
        attempt = OngoingAttempt(number: retries.count, options: options)
        // The total timeout starts with the first attempt, but not before there is demand.
        if options.sawDemand, budget.total == nil { budget = RequestDeadline.bound(options.totalTimeout) }
    }

    var events: EventSink? { attempt.options.events }

    /// Runs user code. `cancel()` and the total timeout end it.
    func callingUserCode<T: Sendable>(
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await request.callingUserCode(ownsTask: ownsTask, budget: budget, in: phase, work)
    }
}
