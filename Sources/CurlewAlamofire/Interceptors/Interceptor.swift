public import Curlew
internal import Foundation
public import FoundationNetworking

/// Combines several adapters and retriers.
///
/// Adapters run one after the other, each on the request that the previous one returned, until the first that fails.
/// Retriers are asked one after the other until the first answer that is not `doNotRetry`.
///
/// A subclass overrides one form of `adapt` and one of `retry`, with a completion handler or without; Curlew finds out
/// which. `super` asks the parts.
// SAFETY: both lists are constants of Sendable values.
open class Interceptor: @unchecked Sendable, RequestInterceptor {
    /// The adapters, in the order in which they change the request.
    public let adapters: [any Curlew.RequestAdapter]
    /// The retriers, in the order in which they are asked.
    public let retriers: [any Curlew.RequestRetrier]

    /// Creates an interceptor of two closures.
    public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Creates an interceptor of one adapter and one retrier.
    public init(adapter: any Curlew.RequestAdapter, retrier: any Curlew.RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor of several parts. `interceptors` adapt after `adapters` and are asked after `retriers`.
    public init(
        adapters: [any Curlew.RequestAdapter] = [],
        retriers: [any Curlew.RequestRetrier] = [],
        interceptors: [any Curlew.RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Passes the request through every adapter.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, using: state) }
        return try await adaptItself(urlRequest, using: state)
    }

    /// Passes the request through every adapter.
    open func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, for: session) }
        return try await adaptItself(urlRequest, using: RequestAdapterState(requestID: UUID(), session: session))
    }

    func adaptItself(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        for adapter in adapters { request = try await adapter.adapt(request, using: state) }
        return request
    }

    /// The statuses of all retriers.
    open var retryableHTTPStatusCodes: Set<Int> { retriers.retryableHTTPStatusCodes }

    /// Calls the form that takes any error.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await retry(request, for: session, dueTo: error as any Error)
    }

    open func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        if isSubclass { return await retryByForms(request, for: session, dueTo: error) }
        return await retryItself(request, for: session, dueTo: error)
    }

    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        for retrier in retriers {
            let result = await retrier.askAboutAny(error, of: request, for: session)
            guard case .doNotRetry = result else { return result }
        }
        return .doNotRetry
    }

    /// Calls each adapter's form with a completion handler. In a subclass it calls all adapters, including those that
    /// have only an `async` form.
    open func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        guard !isSubclass else {
            if !passes(urlRequest, to: completion) {
                start(urlRequest, RequestAdapterState(requestID: UUID(), session: session), completion)
            }
            return
        }
        adapt(.success(urlRequest), by: adapters[...], completion: completion) { adapter, request, completion in
            guard let adapter = adapter as? any RequestAdapter else {
                return adapter.startAdapting(request, for: session, completion: completion)
            }
            adapter.adapt(request, for: session, completion: completion)
        }
    }

    /// Calls each adapter's form with a completion handler.
    open func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        guard !isSubclass else {
            if !passes(urlRequest, using: state, to: completion) { start(urlRequest, state, completion) }
            return
        }
        adapt(.success(urlRequest), by: adapters[...], completion: completion) { adapter, request, completion in
            guard let adapter = adapter as? any RequestAdapter else {
                return adapter.startAdapting(request, using: state, completion: completion)
            }
            adapter.adapt(request, using: state) { result in
                guard case .failure(let error) = result, error is AdaptUsingNotImplemented else {
                    return completion(result)
                }
                // The adapter has another form, which may be asynchronous.
                adapter.startAdapting(request, using: state, completion: completion)
            }
        }
    }

    /// Calls each retrier's form with a completion handler. Except in a subclass, a retrier that implements only the
    /// `async` form of this module's protocol does not answer here. Sessions call the `async` form, which asks every
    /// retrier.
    open func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        if isSubclass { return retryByForms(request, for: session, dueTo: error, completion: completion) }
        retry(request, for: session, dueTo: error, by: retriers[...], completion: completion)
    }

    /// Whether this is an object of a subclass, which may override a form.
    private var isSubclass: Bool { type(of: self) != Interceptor.self }

    private typealias Answer = @Sendable (Result<URLRequest, any Error>) -> Void

    private func start(_ request: URLRequest, _ state: RequestAdapterState, _ completion: @escaping Answer) {
        CompletionTask.start(completion) { await Result.of { try await self.adaptItself(request, using: state) } }
    }

    private func adapt(
        _ result: Result<URLRequest, any Error>,
        by rest: ArraySlice<any Curlew.RequestAdapter>,
        completion: @escaping Answer,
        step: @escaping @Sendable (any Curlew.RequestAdapter, URLRequest, @escaping Answer) -> Void
    ) {
        guard case .success(let request) = result, let adapter = rest.first else { return completion(result) }
        step(adapter, request) { self.adapt($0, by: rest.dropFirst(), completion: completion, step: step) }
    }

    private func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        by rest: ArraySlice<any Curlew.RequestRetrier>,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let retrier = rest.first else { return completion(.doNotRetry) }
        let next: @Sendable (RetryResult) -> Void = { result in
            guard case .doNotRetry = result else { return completion(result) }
            self.retry(request, for: session, dueTo: error, by: rest.dropFirst(), completion: completion)
        }
        if let retrier = retrier as? any RequestRetrier {
            retrier.retry(request, for: session, dueTo: error, completion: next)
        } else {
            CompletionTask.start(next) { await retrier.askAboutAny(error, of: request, for: session) }
        }
    }
}

extension Interceptor: OverridableAdapter, OverridableRetrier, BudgetedRetrier {
    package var budgets: [RetryBudget] { retriers.budgets }
}

extension Curlew.RequestInterceptor where Self == Interceptor {
    /// Makes an interceptor of two closures: `interceptor: .interceptor(adapter:retrier:)`.
    public static func interceptor(
        adapter: @escaping AdaptHandler,
        retrier: @escaping RetryHandler
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }

    /// Makes an interceptor of one adapter and one retrier.
    public static func interceptor(
        adapter: any Curlew.RequestAdapter,
        retrier: any Curlew.RequestRetrier
    ) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// Makes an interceptor of several adapters, retriers and interceptors.
    public static func interceptor(
        adapters: [any Curlew.RequestAdapter] = [],
        retriers: [any Curlew.RequestRetrier] = [],
        interceptors: [any Curlew.RequestInterceptor] = []
    ) -> Interceptor {
        Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
    }
}
