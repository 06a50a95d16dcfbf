internal import Curlew

/// A class of retriers that can be subclassed. Only calling the two forms shows which of them a subclass overrides.
protocol OverridableRetrier: AnyObject, RequestRetrier {
    /// Decides as the base class does, without any form of a subclass.
    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

/// Finds the form of `retry` that a subclass overrides, for one request.
///
/// The `async` form of the base class calls the form with a completion handler, and that form of the base class decides
/// as the class itself does.
struct RetrierForms: Sendable {
    /// The question that is being asked in the current task.
    @TaskLocal private static var current: RetrierForms?

    private let retrier: any OverridableRetrier
    private let request: Request
    private let work: ChildWork

    fileprivate static func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        by retrier: any OverridableRetrier
    ) async -> RetryResult {
        await ChildWork.during { work in
            let forms = RetrierForms(retrier: retrier, request: request, work: work)
            return await $current.withValue(forms) {
                await CompletionBridge.answer(orIfCancelled: .doNotRetry) {
                    retrier.retry(request, for: session, dueTo: error, completion: $0)
                }
            }
        }
    }

    /// Returns the current question if it asks this retrier about this request.
    fileprivate static func current(of retrier: any OverridableRetrier, _ request: Request) -> RetrierForms? {
        guard let current, current.retrier === retrier, current.request === request else { return nil }
        return current
    }

    fileprivate func retryItself(
        _ session: Session,
        _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        work.start(completion) { await retrier.retryItself(request, for: session, dueTo: error) }
    }
}

// Called by the forms of a base class if the object is of a subclass.
extension OverridableRetrier {
    func retryByForms(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        guard RetrierForms.current(of: self, request) == nil else {
            return await retryItself(request, for: session, dueTo: error)
        }
        return await RetrierForms.retry(request, for: session, dueTo: error, by: self)
    }

    func retryByForms(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        if let forms = RetrierForms.current(of: self, request) {
            forms.retryItself(session, error, completion)
        } else {
            CompletionTask.start(completion) { await self.retryItself(request, for: session, dueTo: error) }
        }
    }
}
