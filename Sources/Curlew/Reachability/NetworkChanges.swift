internal import CurlewLocks

/// Keeps what holds in one network alone.
protocol NetworkDependent: AnyObject, Sendable {
    func networkChanged()
}

/// Tells those that keep what holds in one network alone that the machine's default routes have changed. One thread for all of
/// them, from the first on.
final class NetworkChanges: Sendable {
    static let shared = NetworkChanges()

    private struct Listener {
        weak var store: (any NetworkDependent)?
    }

    private struct State {
        var listeners: [Listener] = []
        var monitor: NetworkMonitor?
    }

    private let namespace: String?
    private let state = Lock(State())

    /// `namespace` is the path of a network namespace to look at instead of the process's own.
    init(namespace: String? = nil) { self.namespace = namespace }

    /// Without a netlink socket (a strict sandbox) nothing is told.
    func tell(_ store: any NetworkDependent) {
        let monitor = state.withLock { state -> NetworkMonitor? in
            state.listeners.removeAll { $0.store == nil }
            state.listeners.append(Listener(store: store))
            guard state.monitor == nil else { return nil }
            let monitor = NetworkMonitor(target: .defaultRoute, namespace: namespace, onChange: { _ in }) {
                [weak self] in
                self?.changed()
            }
            state.monitor = monitor
            return monitor
        }
        _ = monitor?.start()
    }

    private func changed() {
        let stores = state.withLock { $0.listeners.compactMap(\.store) }
        for store in stores { store.networkChanged() }
    }
}
