public import Curlew
public import Dispatch
public import Foundation
internal import FoundationNetworking

// Alamofire's names for the settings of an `OfflineRetrier`.
extension OfflineRetrier {
    /// The default time to wait for the network.
    public static let defaultWait: DispatchTimeInterval = .seconds(5)
    /// The codes of `URLError`s that report a missing network.
    public static let defaultURLErrorOfflineCodes: Set<URLError.Code> = [.notConnectedToInternet]
    /// Whether the error, or one inside it, reports a missing network.
    public static let defaultIsOfflineError: @Sendable (_ error: any Error) -> Bool = { error in
        if let code = (error as? URLError)?.code { return defaultURLErrorOfflineCodes.contains(code) }
        guard let error = error as? CurlewError else { return false }
        return mayBeOffline(error) || error.underlying.map(defaultIsOfflineError) ?? false
    }

    /// Creates a retrier that waits for the network for at most `maximumWait`.
    @_disfavoredOverload
    public init(
        maximumWait: DispatchTimeInterval,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool = OfflineRetrier.defaultIsOfflineError
    ) {
        self.init(maximumWait: maximumWait.duration, isOfflineError: { isOfflineError($0) })
    }
}

extension OfflineRetrier: RequestInterceptor {
    /// Waits for the network, and retries the request if the network was away and came back in time.
    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        guard let error = error as? CurlewError else { return .doNotRetry }
        return await retry(request, for: session, dueTo: error)
    }

    /// Waits for the network, and retries the request if the network was away and came back in time.
    public func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionTask.start(completion) { await retry(request, for: session, dueTo: error) }
    }
}

extension Curlew.RequestInterceptor where Self == OfflineRetrier {
    /// A retrier that waits up to five seconds for the network.
    public static var offlineRetrier: OfflineRetrier { OfflineRetrier() }
}

extension DispatchTimeInterval {
    /// The interval as a `Duration`. `.never` becomes a hundred years.
    fileprivate var duration: Duration {
        switch self {
        case .seconds(let count): .seconds(count)
        case .milliseconds(let count): .milliseconds(count)
        case .microseconds(let count): .microseconds(count)
        case .nanoseconds(let count): .nanoseconds(count)
        case .never: .seconds(100 * 365 * 86_400)
        @unknown default: .seconds(5)
        }
    }
}
