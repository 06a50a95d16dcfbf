internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// Carries one request out, for whoever drives it: tries, asks the retriers, tries again.
///
/// Loop 1 of two. It looks at the result of a whole try and never at redirects; loop 2 (`Attempt`) follows
/// redirects and never looks at what a retrier might want.
struct RequestRunner: Sendable {
    let request: Request
    let session: Session
    let rules: RunRules
    private(set) var task = TaskIdentifier(rawValue: 0)
    private var budget = TimeoutBudget.unlimited
    private(set) var attempt = 0
    private var standing = Standing.outside
    private var pacing: RetryPacing
    /// The last try was led away from the origin that its credentials are for.
    private var hasLeftCredentials = false
    /// Why there was another try, when that one finds that the body is spent.
    private var reasonForRetry: CurlewError?

    /// How the run stands with its session's registry.
    private enum Standing {
        case outside
        /// The session takes no more.
        case refused(CurlewError)
        /// On record, under the name of a try that has yet to begin.
        case joined
        case trying

        var isOnRecord: Bool {
            switch self {
            case .outside, .refused: false
            case .joined, .trying: true
            }
        }
    }

    init(_ request: Request, in session: Session, rules: RunRules, pacing: RetryPacing = RetryPacing()) {
        self.request = request
        self.session = session
        self.rules = rules
        self.pacing = pacing
    }

    /// The request joins the session's registry, unless it has: whoever cancels or drains from here on means it too.
    mutating func join() {
        guard case .outside = standing else { return }
        do throws(CurlewError) {
            task = try session.join(request)
            standing = .joined
        } catch {
            standing = .refused(error)
        }
    }

    /// Tries until there is a result that nobody wants to try again. A session that takes no more is a result.
    // Inlined: see `Attempt.run`.
    @inline(__always)
    mutating func run() async -> RunResult {
        if request.isSetUpAhead, let error = await untilPrepared() { return RunResult(error: error) }
        join()
        if case .refused(let error) = standing { return RunResult(error: error) }
        while true {
            if case .trying = standing { task = session.nextTask(of: request, after: task) }
            let start = request.tryBegins()
            if case .joined = standing {
                standing = .trying
                // A clock is only read for those who set it.
                if let total = start.totalTimeout, budget.total == nil {
                    budget = TimeoutBudget(total: total, started: .now)
                }
            }
            var tried = Attempt(
                request: request,
                rules: rules,
                budget: budget,
                number: attempt,
                events: start.events
            )
            var result = await tried.run(start, task: task, in: session)
            if let reasonForRetry { result = result.explained(by: reasonForRetry) }
            (task, hasLeftCredentials) = (tried.task, tried.hasLeftCredentials)
            guard let error = result.error else {
                if start.hasRetriers, await triesAgain(after: &result) { continue }
                return result
            }
            if !request.isCancelled, request.triesAgainAtOnce() { continue }
            switch await decideRetry(after: error) {
            case .again: continue
            case .end: return result
            case .endWith(let error): return result.failing(with: error, resumeData: request.producedResumeData)
            }
        }
    }

    /// Waits for what was begun ahead, as long as the total clock allows.
    private mutating func untilPrepared() async -> CurlewError? {
        guard let total = request.timeouts.total else {
            await request.untilPrepared()
            return nil
        }
        budget = TimeoutBudget(total: total, started: .now)
        return await request.untilPrepared(within: budget)
    }

    /// Whether the terminal accepts a status that a retrier does not, and the request is tried again for that.
    // A function of its own: few responses need its frame.
    @inline(never)
    private mutating func triesAgain(after result: inout RunResult) async -> Bool {
        guard let status = result.response?.head.status, status != 200, !request.isCancelled else { return false }
        // What a stream's reader has got cannot be taken back.
        if case .streamed = result.body { return false }
        let retriers = request.retriers.filter { $0.retryableHTTPStatusCodes.contains(status) }
        guard !retriers.isEmpty else { return false }
        var failure = ResponseValidation.unacceptable(status)
        failure.url = result.response?.url
        failure.attempt = attempt
        switch await decideRetry(after: failure, by: retriers) {
        case .again:
            // What was downloaded is not what the caller gets.
            if case .file(let file) = result.body {
                await FileLane.next().carryOut { try? FileManager.default.removeItem(at: file) }
            }
            return true
        // The response stands where there is no time for another.
        case .end, .endWith(CurlewError.Code.totalTimedOut): request.isAcceptedAfterAll()
        case .endWith(let error): result = result.failing(with: error, resumeData: request.producedResumeData)
        }
        return false
    }

    /// The run is over, with all that belongs to it.
    func leave() { if standing.isOnRecord { session.leave(request, last: task) } }

    enum RetryDecision {
        case again, end
        case endWith(CurlewError)
    }

    /// Asks the retriers, waits as they want, and makes the request ready for another try.
    mutating func decideRetry(after failure: CurlewError) async -> RetryDecision {
        await decideRetry(after: failure, by: request.retriers)
    }

    private mutating func decideRetry(
        after failure: CurlewError,
        by retriers: [any RequestRetrier]
    ) async -> RetryDecision {
        guard standing.isOnRecord, !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut else {
            return .end
        }
        // Another try would be led away from its credentials again.
        if hasLeftCredentials, (failure.responseCode ?? request.head?.status) == 401 { return .end }
        let failed = ContinuousClock.now
        request.failed(with: failure)
        guard request.mayBeTriedAgain else { return .end }
        for retrier in retriers {
            let answer: RetryResult
            do {
                let (request, session) = (request, session)
                answer = try await foreign { await retrier.retry(request, for: session, dueTo: failure) }
            } catch {
                return interrupted(by: error, after: failure)
            }
            if request.isCancelled { return .endWith(request.cancellation) }
            switch answer {
            case .doNotRetry: continue
            case .doNotRetryWithError(let retryError):
                return .endWith(.requestRetryFailed(retryError: retryError, originalError: failure))
            case .retry: return await retry(after: .zero, failure, failed)
            case .retryWithDelay(let seconds): return await retry(after: .bounded(seconds: seconds), failure, failed)
            }
        }
        return .end
    }

    private mutating func retry(
        after asked: Duration,
        _ failure: CurlewError,
        _ failed: ContinuousClock.Instant
    ) async -> RetryDecision {
        guard let delay = pacing.pause(asked: asked, after: .now - failed) else {
            return .endWith(.requestRetryFailed(retryError: CurlewError.tooManyRetries, originalError: failure))
        }
        if delay == .zero { return prepareRetry(after: failure) }
        guard budget.total == nil || budget.allows(delay, at: .now) else {
            return .endWith(CurlewError.totalTimeout(phase: .retry).after(failure))
        }
        do {
            try await foreign { try await Task.sleep(for: delay) }
        } catch {
            return interrupted(by: error, after: failure)
        }
        return prepareRetry(after: failure)
    }

    private mutating func prepareRetry(after failure: CurlewError) -> RetryDecision {
        guard request.prepareForRetry() else { return .endWith(request.cancellation) }
        if failure.code != .bodyUnavailable { reasonForRetry = failure }
        attempt += 1
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }

    private func interrupted(by error: any Error, after failure: CurlewError) -> RetryDecision {
        if request.isCancelled { return .endWith(request.cancellation) }
        guard let error = error as? CurlewError else { return .endWith(.explicitlyCancelled) }
        return .endWith(error.after(failure))
    }

    private func foreign<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        try await request.foreign(ownsTask: rules.ownsTask, budget: budget, in: .retry, work)
    }
}

/// What the driver of a run wants of it.
struct RunRules: Sendable {
    /// Whether a status outside 200..<300 is an error unless the request has its own validation.
    var checksStatus: Bool
    /// Whether the driver's task is Curlew's, and may be cancelled.
    var ownsTask: Bool
}

extension RunResult {
    /// A body that cannot be sent again says what it should have been sent again for.
    fileprivate func explained(by reasonForRetry: CurlewError) -> RunResult {
        guard var error, error.code == .bodyUnavailable, error.underlying == nil else { return self }
        error.underlying = reasonForRetry
        return failing(with: error, resumeData: resumeData)
    }

    func failing(with error: CurlewError, resumeData: Data?) -> RunResult {
        RunResult(
            request: request,
            response: response,
            metrics: metrics,
            body: body,
            error: error,
            resumeData: resumeData
        )
    }
}

extension CurlewError {
    fileprivate static var tooManyRetries: CurlewError {
        CurlewError(
            .limitExceeded,
            phase: .retry,
            reason: "a request is not tried again more than \(RetryPacing.limit) times without a pause"
        )
    }

    /// What ended the retries tells of the failure that they were for.
    fileprivate func after(_ failure: CurlewError) -> CurlewError {
        var error = self
        if error.underlying == nil { error.underlying = failure }
        if error.responseCode == nil { error.responseCode = failure.responseCode }
        if error.responseBody == nil { error.responseBody = failure.responseBody }
        if error.url == nil { error.url = failure.url }
        if error.attempt == 0 { error.attempt = failure.attempt }
        return error
    }

    static func totalTimeout(phase: Phase, underlying: (any Error)? = nil) -> CurlewError {
        CurlewError(.totalTimedOut, phase: phase, reason: "the request took longer than it may", underlying: underlying)
    }
}
