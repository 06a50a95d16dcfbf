internal import CNetlink
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// Follows the kernel's routing messages on a separate thread and reports changes of the status. Does not poll.
final class NetworkMonitor: Sendable {
    /// The destination whose reachability is monitored.
    enum Target: Sendable, Equatable {
        case defaultRoute
        case host(String)
    }

    private struct State {
        var status = NetworkReachabilityStatus.unknown
        /// `nil` before the first report.
        var routes: Set<NetworkState.DefaultRoute>?
        /// Closing this end of the socket pair ends the thread, which waits at the other end.
        var stopper: Int32?
    }

    private let target: Target
    private let namespace: String?
    private let state = Lock(State())
    private let onChange: @Sendable (NetworkReachabilityStatus) -> Void
    private let onRoutesChange: (@Sendable () -> Void)?

    /// `namespace` is the path of the network namespace to observe, instead of that of the process. `onRoutesChange` is
    /// called when the default routes change, even if the status stays the same.
    init(
        target: Target,
        namespace: String? = nil,
        onChange: @escaping @Sendable (NetworkReachabilityStatus) -> Void,
        onRoutesChange: (@Sendable () -> Void)? = nil
    ) {
        self.target = target
        self.namespace = namespace
        self.onChange = onChange
        self.onRoutesChange = onRoutesChange
    }

    deinit { stop() }

    var status: NetworkReachabilityStatus { state.withLock { $0.status } }

    /// Starts the thread. Returns false if the kernel provides no netlink socket (a strict sandbox).
    func start() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return false
        }
        let (stopSignal, stopper) = (ends[0], ends[1])
        let alreadyRunning = state.withLock { state in
            guard state.stopper == nil else { return true }
            state.stopper = stopper
            return false
        }
        guard !alreadyRunning else {
            close(stopSignal)
            close(stopper)
            return true
        }
        let opened = Lock<Bool?>(nil)
        let ready = DispatchSemaphore(value: 0)
        let thread = Thread { [weak self, target, namespace] in
            defer { close(stopSignal) }
            let loop = NetlinkLoop(target: target, namespace: namespace)
            opened.withLock { $0 = loop != nil }
            ready.signal()
            loop?.run(until: stopSignal) { status, routes in self?.report(status, routes) }
        }
        thread.name = "curlew.network"
        thread.stackSize = 256 * 1024
        thread.start()
        ready.wait()
        guard opened.withLock({ $0 }) == true else {
            stop()
            return false
        }
        return true
    }

    func stop() {
        let stopper = state.withLock { state in
            defer { state.stopper = nil }
            return state.stopper
        }
        // The hang-up ends the poll of the thread.
        if let stopper { close(stopper) }
    }

    private func report(_ status: NetworkReachabilityStatus, _ routes: Set<NetworkState.DefaultRoute>) {
        let (hasChanged, hasOtherRoutes) = state.withLock { state -> (Bool, Bool) in
            guard state.stopper != nil else { return (false, false) }
            let changes = (state.status != status, state.routes.map { $0 != routes } ?? false)
            (state.status, state.routes) = (status, routes)
            return changes
        }
        if hasChanged { onChange(status) }
        if hasOtherRoutes { onRoutesChange?() }
    }
}
