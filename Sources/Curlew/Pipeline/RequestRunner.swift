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

    init(_ request: Request, in session: Session, rules: RunRules) {
        self.request = request
        self.session = session
        self.rules = rules
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
        if request.isSetUpAhead { await request.untilPrepared() }
        join()
        if case .refused(let error) = standing { return RunResult(error: error) }
        while true {
            if case .trying = standing { task = session.nextTask(of: request, after: task) }
            let start = request.tryBegins()
            if case .joined = standing {
                standing = .trying
                // A clock is only read for those who set it.
                if let total = start.totalTimeout { budget = TimeoutBudget(total: total, started: .now) }
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
            task = tried.task
            guard let error = result.error else { return result }
            if !request.isCancelled, request.triesAgainAtOnce() { continue }
            switch await decideRetry(after: error) {
            case .again: continue
            case .end: return result
            case .endWith(let error): return result.failing(with: error, resumeData: request.producedResumeData)
            }
        }
    }

    /// The run is over, with all that belongs to it.
    func leave() { if standing.isOnRecord { session.leave(request, last: task) } }

    enum RetryDecision {
        case again, end
        case endWith(CurlewError)
    }

    /// Asks the retriers, waits as they want, and makes the request ready for another try.
    mutating func decideRetry(after failure: CurlewError) async -> RetryDecision {
        let retriers = request.retriers
        guard standing.isOnRecord, !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut else {
            return .end
        }
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
            case .retry: return prepareRetry(after: failure)
            case .retryWithDelay(let seconds): return await retry(after: .bounded(seconds: seconds), failure)
            }
        }
        return .end
    }

    private mutating func retry(after delay: Duration, _ failure: CurlewError) async -> RetryDecision {
        guard budget.total == nil || budget.allows(delay, at: .now) else {
            return .endWith(.totalTimeout(phase: .retry, underlying: failure))
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
        guard var error = error as? CurlewError else { return .endWith(.explicitlyCancelled) }
        if error.underlying == nil { error.underlying = failure }
        return .endWith(error)
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
    static func totalTimeout(phase: Phase, underlying: (any Error)? = nil) -> CurlewError {
        CurlewError(.totalTimedOut, phase: phase, reason: "the request took longer than it may", underlying: underlying)
    }
}
