internal import CurlewLocks
internal import Synchronization

/// A monitor of every request of the process, beside those of sessions and requests.
package enum ProcessMonitor {
    private static let hub = Lock<MonitorHub?>(nil)
    // Every request asks, on every thread at once: without the lock, which only a process with such a monitor takes.
    private static let isThere = Atomic(false)

    /// From now on `monitor` is told the `request(…)` events of every request. The first one stays.
    package static func set(_ monitor: any EventMonitor) {
        let new = MonitorHub([monitor])
        hub.withLock { $0 = $0 ?? new }
        isThere.store(true, ordering: .releasing)
    }

    static var current: MonitorHub? { isThere.load(ordering: .acquiring) ? hub.withLock { $0 } : nil }
}

extension Request {
    /// Whether one of the session's monitors, or of the request's own, is of the kind.
    package func hasMonitor(where isMeant: (any EventMonitor) -> Bool) -> Bool {
        context.monitors?.contains(where: isMeant) == true
            || record.withLock { $0.extras?.hooks.monitors }?.contains(where: isMeant) == true
    }
}
