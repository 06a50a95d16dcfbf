internal import CurlewLocks
public import Dispatch
public import Foundation

/// Observes the kernel's routes and links, and reports changes of the network's reachability.
///
///     let reachability = NetworkReachabilityManager()
///     for await status in reachability.statuses() { print(status) }
///
/// It observes while it has a listener or a stream, and wakes only when something changes. It stops when the last
/// reference to it is released.
public final class NetworkReachabilityManager: Sendable {
    /// A closure that is called with each new status.
    public typealias Listener = @Sendable (_ status: NetworkReachabilityStatus) -> Void

    /// The shared manager, which watches the default route.
    public static let `default` = NetworkReachabilityManager()

    /// Posted for a listener, on its queue, with the manager as the object and the status under `statusKey`.
    public static let statusDidChangeNotification = Notification.Name("curlew.notification.name.reachability.didChange")
    /// The key of the status in a notification's `userInfo`.
    public static let statusKey = "curlew.notification.key.reachability.status"

    private struct State {
        var monitor: NetworkMonitor?
        var streams: [Int: AsyncStream<NetworkReachabilityStatus>.Continuation] = [:]
        var nextStream = 0
        /// The listener. The monitor runs while there is one, or a stream.
        var listener: (queue: DispatchQueue, call: Listener)?
    }

    private let target: NetworkMonitor.Target
    private let namespace: String?
    private let state = Lock(State())
    private let handoff = Handoff()

    /// Creates a manager that watches the default route.
    public convenience init() { self.init(target: .defaultRoute) }

    /// Creates a manager that watches the route to `host`, a name or an address.
    public convenience init(host: String) { self.init(target: .host(host)) }

    init(target: NetworkMonitor.Target, namespace: String? = nil) {
        self.target = target
        self.namespace = namespace
    }

    deinit {
        let (monitor, streams) = state.withLock { ($0.monitor, Array($0.streams.values)) }
        monitor?.stop()
        for stream in streams { stream.finish() }
    }

    /// The last known status, or `.unknown` if there is neither a listener nor a stream.
    public var status: NetworkReachabilityStatus { state.withLock { $0.monitor?.status ?? .unknown } }

    /// Whether there is a route.
    public var isReachable: Bool { if case .reachable = status { true } else { false } }
    /// Whether the route uses a cellular modem.
    public var isReachableOnCellular: Bool { status == .reachable(.cellular) }
    /// Whether the route uses an interface that is not a modem.
    public var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    /// Calls `listener` on `queue` with the current status and after every change. Replaces an earlier listener.
    /// Returns `false` if the kernel provides no netlink socket.
    @discardableResult
    public func startListening(
        onQueue queue: DispatchQueue = .main,
        onUpdatePerforming listener: @escaping Listener
    ) -> Bool {
        stopListening()
        _ = state.withLock { exchange(&$0.listener, with: (queue, listener)) }
        return start()
    }

    /// Stops calling the listener. Streams of statuses continue.
    public func stopListening() {
        // The listener is released without the lock: it holds the user's objects.
        let former = state.withLock { exchange(&$0.listener, with: nil) }
        if former != nil { restart() }
    }

    /// A stream of the current status and every change. A slow reader gets only the latest status.
    public func statuses() -> AsyncStream<NetworkReachabilityStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkReachabilityStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let (key, known) = state.withLock { state in
            defer { state.nextStream += 1 }
            state.streams[state.nextStream] = continuation
            return (state.nextStream, state.monitor?.status)
        }
        continuation.onTermination = { [weak self] _ in self?.streamEnded(key) }
        if let known, known != .unknown {
            continuation.yield(known)
        } else if known == nil, !start() {
            continuation.finish()
        }
        return stream
    }

    /// Starts a monitor, which replaces the former one.
    private func start() -> Bool {
        let handoff = handoff
        let monitor = NetworkMonitor(target: target, namespace: namespace) { [weak self] status in
            guard let self else { return }
            // Read at every change: two threads may start monitors at once, one of them for a listener.
            let (streams, listener) = self.state.withLock { (Array($0.streams.values), $0.listener) }
            for stream in streams { stream.yield(status) }
            guard let listener else { return }
            handoff(to: listener.queue) { [weak self] in
                listener.call(status)
                NotificationCenter.default.post(
                    name: Self.statusDidChangeNotification,
                    object: self,
                    userInfo: [Self.statusKey: status]
                )
            }
        }
        let former = state.withLock { state in
            defer { state.monitor = monitor }
            return state.monitor
        }
        former?.stop()
        guard monitor.start() else {
            _ = state.withLock { $0.monitor === monitor ? exchange(&$0.monitor, with: nil) : nil }
            return false
        }
        // Another thread may have replaced the monitor, and stopped it, before it was started.
        if state.withLock({ $0.monitor !== monitor }) { monitor.stop() }
        return true
    }

    /// Stops the monitor after the listener was removed, and starts another one if it is needed: by streams, or by a
    /// listener that was added on another thread meanwhile.
    private func restart() {
        let (former, isNeeded) = state.withLock { state in
            defer { state.monitor = nil }
            return (state.monitor, !state.streams.isEmpty || state.listener != nil)
        }
        former?.stop()
        if isNeeded { _ = start() }
    }

    private func streamEnded(_ key: Int) {
        var gone: AsyncStream<NetworkReachabilityStatus>.Continuation?
        let idle = state.withLock { state -> NetworkMonitor? in
            gone = state.streams.removeValue(forKey: key)
            guard state.streams.isEmpty, state.listener == nil else { return nil }
            return exchange(&state.monitor, with: nil)
        }
        withExtendedLifetime(gone) {}
        idle?.stop()
    }
}

/// The reachability of the network, derived from the kernel's routes and links.
///
/// A route does not guarantee a response: use the status to decide when to try again, never to decide whether to try at
/// all.
public enum NetworkReachabilityStatus: Sendable, Hashable, CustomStringConvertible {
    /// The status has not been determined yet.
    case unknown
    /// There is no route.
    case notReachable
    /// There is a route of this kind.
    case reachable(ConnectionType)

    /// The kind of network that a route uses.
    public enum ConnectionType: Sendable, Hashable {
        /// Any interface that is not a modem.
        case ethernetOrWiFi
        /// A cellular modem, recognised by the type or name of its device. Other PPP links, for example PPPoE, count as
        /// well.
        case cellular
    }

    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(.ethernetOrWiFi): "reachable over ethernet or WiFi"
        case .reachable(.cellular): "reachable over a cellular modem"
        }
    }
}
