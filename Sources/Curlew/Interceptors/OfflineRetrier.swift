public import CurlewCore
internal import Foundation

/// Retries a request that failed without a network, once the network is back.
///
///     let session = Session(interceptor: .offlineRetrier(maximumWait: .seconds(30)))
///
/// A request that fails although the network is reachable is not retried. Neither is one that must not be repeated, and
/// that a server has carried out before it redirected.
public struct OfflineRetrier: RequestInterceptor {
    private let reachability: NetworkReachabilityManager
    private let maximumWait: Duration
    private let requiredConnection: NetworkReachabilityStatus.ConnectionType?
    private let retryLimit: Int
    private let isOfflineError: @Sendable (CurlewError) -> Bool

    /// Creates a retrier.
    ///
    /// - Parameters:
    ///   - reachability: The source of the status. All waiting requests share it.
    ///   - maximumWait: The time after which the request fails with its original error.
    ///   - requiredConnection: The only kind of connection that ends the wait. `nil` accepts any.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Whether an error may be caused by a missing network.
    public init(
        reachability: NetworkReachabilityManager = NetworkReachabilityManager(),
        maximumWait: Duration = .seconds(5),
        requiredConnection: NetworkReachabilityStatus.ConnectionType? = nil,
        retryLimit: Int = 2,
        isOfflineError: @escaping @Sendable (CurlewError) -> Bool = OfflineRetrier.mayBeOffline
    ) {
        self.reachability = reachability
        self.maximumWait = maximumWait
        self.requiredConnection = requiredConnection
        self.retryLimit = retryLimit
        self.isOfflineError = isOfflineError
    }

    /// Whether an error may mean that this machine is offline: a name was not resolved, or a connection failed.
    @usableFromInline
    package static let mayBeOffline: @Sendable (CurlewError) -> Bool = { error in
        switch error.code {
        case .resolveFailed, .connectFailed, .connectTimedOut: true
        default: false
        }
    }

    /// Waits for the network. Returns `.retry` if it was unreachable and is reachable again in time.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        guard isOfflineError(error), request.retryCount < retryLimit, !request.wasCarriedOut else { return .doNotRetry }
        return await networkCameBack(reachability.statuses()) ? .retry : .doNotRetry
    }

    /// Returns whether the network was unreachable and is reachable again in time.
    func networkCameBack(_ statuses: AsyncStream<NetworkReachabilityStatus>) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                var wasAway = false
                for await status in statuses {
                    if isUsable(status) { return wasAway }
                    wasAway = true
                }
                return false
            }
            group.addTask {
                _ = await CancellableSleep.wait(for: maximumWait)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    private func isUsable(_ status: NetworkReachabilityStatus) -> Bool {
        guard case .reachable(let connection) = status else { return false }
        return requiredConnection.map { $0 == connection } ?? true
    }
}

extension RequestInterceptor where Self == OfflineRetrier {
    /// Creates a retrier that waits for the network; the parameters are those of `OfflineRetrier.init`.
    public static func offlineRetrier(
        reachability: NetworkReachabilityManager = NetworkReachabilityManager(),
        maximumWait: Duration = .seconds(5),
        requiredConnection: NetworkReachabilityStatus.ConnectionType? = nil,
        retryLimit: Int = 2
    ) -> OfflineRetrier {
        OfflineRetrier(
            reachability: reachability,
            maximumWait: maximumWait,
            requiredConnection: requiredConnection,
            retryLimit: retryLimit
        )
    }
}
