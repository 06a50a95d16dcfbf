internal import Foundation
public import FoundationNetworking

/// Several adapters and retriers in order.
///
/// Adapters run one after the other, each on what the one before made, until the first that fails. Retriers are
/// asked one after the other until the first answer that is not `doNotRetry`.
///
/// A subclass overrides one form of `adapt` and one of `retry`, with a completion handler or without: Curlew finds it. `super`
/// asks the parts.
// SAFETY: both lists are constants of Sendable values.
open class Interceptor: @unchecked Sendable, RequestInterceptor {
    /// The adapters, in the order in which they change the request.
    public let adapters: [any RequestAdapter]
    /// The retriers, in the order in which they are asked.
    public let retriers: [any RequestRetrier]

    /// Creates an interceptor of two closures.
    public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Creates an interceptor of one adapter and one retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor of several parts. `interceptors` adapt after `adapters` and are asked after `retriers`.
    public init(
        adapters: [any RequestAdapter] = [],
        retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Sends the request through every adapter.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, using: state) }
        return try await adaptItself(urlRequest, using: state)
    }

    /// Sends the request through every adapter.
    open func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, for: session) }
        return try await adaptItself(urlRequest, using: RequestAdapterState(requestID: UUID(), session: session))
    }

    func adaptItself(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        for adapter in adapters { request = try await adapter.adapt(request, using: state) }
        return request
    }

    /// Those of all its retriers.
    open var retryableHTTPStatusCodes: Set<Int> {
        retriers.reduce(into: []) { $0.formUnion($1.retryableHTTPStatusCodes) }
    }

    open func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        if isSubclass { return await retryByForms(request, for: session, dueTo: error) }
        return await retryItself(request, for: session, dueTo: error)
    }

    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        for retrier in retriers {
            let result = await retrier.retry(request, for: session, dueTo: error)
            guard case .doNotRetry = result else { return result }
        }
        return .doNotRetry
    }

    /// Asks the adapters' own forms with completion, for callers of that style. In a subclass it asks all adapters, also those
    /// that have only an `async` form.
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
            adapter.adapt(request, for: session, completion: completion)
        }
    }

    /// Asks the adapters' own forms with completion, for callers of that style.
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
            adapter.adapt(request, using: state) { result in
                guard case .failure(let error) = result, error is AdaptUsingNotImplemented else {
                    return completion(result)
                }
                // It has another form, which may be asynchronous.
                CompletionTask.start(completion) { await Result.of { try await adapter.adapt(request, using: state) } }
            }
        }
    }

    /// Asks the retriers' own forms with completion, for callers of that style. One that has only the `async` form is not
    /// asked, except in a subclass: whether it has another shows in no answer. Curlew itself calls the `async` form, which asks all.
    open func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        if isSubclass { return retryByForms(request, for: session, dueTo: error, completion: completion) }
        retry(request, for: session, dueTo: error, by: retriers[...], completion: completion)
    }

    /// Whether one of the forms may be overridden.
    private var isSubclass: Bool { type(of: self) != Interceptor.self }

    private typealias Answer = @Sendable (Result<URLRequest, any Error>) -> Void

    private func start(_ request: URLRequest, _ state: RequestAdapterState, _ completion: @escaping Answer) {
        CompletionTask.start(completion) { await Result.of { try await self.adaptItself(request, using: state) } }
    }

    private func adapt(
        _ result: Result<URLRequest, any Error>,
        by rest: ArraySlice<any RequestAdapter>,
        completion: @escaping Answer,
        step: @escaping @Sendable (any RequestAdapter, URLRequest, @escaping Answer) -> Void
    ) {
        guard case .success(let request) = result, let adapter = rest.first else { return completion(result) }
        step(adapter, request) { self.adapt($0, by: rest.dropFirst(), completion: completion, step: step) }
    }

    private func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        by rest: ArraySlice<any RequestRetrier>,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let retrier = rest.first else { return completion(.doNotRetry) }
        retrier.retry(request, for: session, dueTo: error) { result in
            guard case .doNotRetry = result else { return completion(result) }
            self.retry(request, for: session, dueTo: error, by: rest.dropFirst(), completion: completion)
        }
    }
}

extension Interceptor: OverridableAdapter, OverridableRetrier {}

extension RequestInterceptor where Self == Interceptor {
    /// Makes an interceptor of two closures: `interceptor: .interceptor(adapter:retrier:)`.
    public static func interceptor(
        adapter: @escaping AdaptHandler,
        retrier: @escaping RetryHandler
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }

    /// Makes an interceptor of one adapter and one retrier.
    public static func interceptor(adapter: any RequestAdapter, retrier: any RequestRetrier) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// Makes an interceptor of several adapters, retriers and interceptors.
    public static func interceptor(
        adapters: [any RequestAdapter] = [],
        retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor {
        Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
    }
}
