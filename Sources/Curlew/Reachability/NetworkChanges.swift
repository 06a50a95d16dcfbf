internal import CurlewLocks

/// An object whose state is valid in one network only.
protocol NetworkDependent: AnyObject, Sendable {
    func networkChanged()
}

/// Notifies objects when the machine's default routes have changed. The first object starts a thread, which serves all
/// of them.
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

    /// `namespace` is the path of the network namespace to observe, instead of that of the process.
    init(namespace: String? = nil) { self.namespace = namespace }

    /// Adds an object to notify, without retaining it. It is never notified if there is no netlink socket (a strict
    /// sandbox).
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
