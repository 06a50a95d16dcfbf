public import Curlew
internal import Foundation

/// A closure that decides about a retry and passes the decision to a completion handler.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void

/// A retrier that calls a closure.
///
/// A subclass overrides one of the two forms; Curlew finds out which. `super` calls the closure.
// SAFETY: `handler` is a constant, and Sendable.
open class Retrier: @unchecked Sendable, RequestInterceptor {
    private enum Handler: Sendable {
        case completion(RetryHandler)
        case async(@Sendable (Request, Session, any Error) async -> RetryResult)
    }

    private let handler: Handler

    /// Creates a retrier from a closure with a completion handler, which it must call. Only the first call counts.
    public init(_ retryHandler: @escaping RetryHandler) { handler = .completion(retryHandler) }

    /// Creates a retrier from an `async` closure.
    public init(
        _ retry: @escaping @Sendable (_ request: Request, _ session: Session, _ error: any Error) async -> RetryResult
    ) {
        handler = .async(retry)
    }

    open func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        switch handler {
        case .completion(let handler): handler(request, session, error, completion)
        case .async: retryByForms(request, for: session, dueTo: error, completion: completion)
        }
    }

    /// Calls the form that takes any error.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await retry(request, for: session, dueTo: error as any Error)
    }

    open func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        let isSubclass = type(of: self) != Retrier.self
        if isSubclass { return await retryByForms(request, for: session, dueTo: error) }
        return await retryItself(request, for: session, dueTo: error)
    }
}

extension Retrier: OverridableRetrier {
    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        switch handler {
        case .completion(let handler):
            await CompletionBridge.answer(orIfCancelled: .doNotRetry) { handler(request, session, error, $0) }
        case .async(let handler): await handler(request, session, error)
        }
    }
}

extension Curlew.RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure with a completion handler.
    public static func retrier(using closure: @escaping RetryHandler) -> Retrier { Retrier(closure) }

    /// A retrier that calls an `async` closure.
    public static func retrier(
        using closure:
            @escaping @Sendable (_ request: Request, _ session: Session, _ error: any Error) async ->
            RetryResult
    ) -> Retrier {
        Retrier(closure)
    }
}
