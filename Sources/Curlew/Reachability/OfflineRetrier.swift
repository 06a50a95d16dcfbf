public import CurlewCore
internal import Foundation

/// Waits for the network when a request failed for want of one, and then lets it be tried again.
///
///     let session = Session(interceptor: .offlineRetrier(maximumWait: .seconds(30)))
///
/// A host that cannot be reached although there is a way out is no reason to wait: then nothing is retried.
public struct OfflineRetrier: RequestInterceptor {
    private let reachability: NetworkReachabilityManager
    private let maximumWait: Duration
    private let requiredConnection: NetworkReachabilityStatus.ConnectionType?
    private let retryLimit: Int
    private let isOfflineError: @Sendable (CurlewError) -> Bool

    /// - Parameters:
    ///   - reachability: whose statuses are waited for; all waiting requests share it.
    ///   - maximumWait: after so long the request fails with the error that it had.
    ///   - requiredConnection: the only kind of connection that ends the wait; nil is any.
    ///   - retryLimit: how many times one request is tried again.
    ///   - isOfflineError: which errors may come from a missing network.
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

    /// Whether an error may mean that this machine is offline: no address for the name, or no connection.
    public static let mayBeOffline: @Sendable (CurlewError) -> Bool = { error in
        switch error.code {
        case .resolveFailed, .connectFailed, .connectTimedOut: true
        default: false
        }
    }

    /// Waits for the network, and retries the request if the network was away and came back in time.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        guard isOfflineError(error), request.retryCount < retryLimit, !request.wasCarriedOut else { return .doNotRetry }
        return await networkCameBack(reachability.statuses()) ? .retry : .doNotRetry
    }

    /// True when the network was away and came back in time.
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
                try? await Task.sleep(for: maximumWait)
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
    /// Waits up to five seconds for the network.
    public static var offlineRetrier: OfflineRetrier { OfflineRetrier() }

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
