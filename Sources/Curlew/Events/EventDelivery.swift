internal import CurlewLocks
internal import Dispatch
package import Foundation
internal import Synchronization

/// Delivers events to one monitor, in order, on the monitor's queue.
///
/// An event is a closure that calls one of the monitor's methods. The first event that waits schedules a hop to the queue, and the
/// hop delivers all events that wait by then, so at most one hop is scheduled at a time. Work that is put on the queue after an
/// event was emitted runs after its delivery.
package final class MonitorQueue: Sendable {
    package typealias Event = @Sendable (any EventMonitor) -> Void

    package let monitor: any EventMonitor
    package let wantsBodies: Bool
    private let queue: DispatchQueue
    private let handoff = Handoff()
    private let waiting = Lock(Waiting())

    private struct Waiting: Sendable {
        var events: [(event: Event, cost: Int)] = []
        /// The sum of the costs of events that have not been delivered.
        var cost = 0
        var isHopScheduled = false
    }

    /// Reads the monitor's properties, which are user code: call it without a lock.
    package init(_ monitor: any EventMonitor) {
        self.monitor = monitor
        wantsBodies = monitor.wantsBodies
        queue = monitor.queue
    }

    /// Adds an event. One with a cost is dropped if the waiting events would cost more than `limit`.
    package func emit(cost: Int = 0, _ event: @escaping Event) {
        waiting.withLock { waiting in
            guard cost == 0 || waiting.cost + cost <= Self.limit else { return }
            waiting.cost += cost
            waiting.events.append((event, cost))
            guard !waiting.isHopScheduled else { return }
            waiting.isHopScheduled = true
            // Under the lock: otherwise another thread could add an event that relies on this hop, and then put work on the
            // queue ahead of it.
            handoff(to: queue) { self.deliver() }
        }
    }

    /// Adds an event about a piece of a body, which may be dropped.
    package func emitPiece(_ event: @escaping Event) { emit(cost: Self.pieceCost, event) }

    /// Adds an event with bytes of a body if the monitor wants them. They may be dropped.
    package func emitBody(_ data: Data, _ event: @escaping Event) {
        if wantsBodies { emit(cost: data.count + Self.pieceCost, event) }
    }

    private func deliver() {
        let events = waiting.withLock { waiting in
            waiting.isHopScheduled = false
            return exchange(&waiting.events, with: [])
        }
        for (event, cost) in events {
            event(monitor)
            if cost > 0 { waiting.withLock { $0.cost -= cost } }
        }
    }

    /// The greatest cost of events that wait.
    static let limit = 16 * 1024 * 1024
    private static let pieceCost = 256
}

/// The monitors of one request: the session's, then the request's own, then the process's.
struct EventSink: Sendable {
    private let session: [MonitorQueue]
    private let own: [MonitorQueue]

    /// `nil` without monitors: then no event is built.
    init?(session: [MonitorQueue], own: [MonitorQueue]) {
        self.session = session
        self.own = if let process = ProcessMonitor.current { own + [process] } else { own }
        if session.isEmpty, self.own.isEmpty { return nil }
    }

    /// Whether a monitor receives bodies.
    var wantsBodies: Bool { session.contains(where: \.wantsBodies) }

    /// Tells all monitors of an event of the request.
    func emit(_ event: @escaping MonitorQueue.Event) {
        for monitor in session { monitor.emit(event) }
        for monitor in own { monitor.emit(event) }
    }

    /// Tells the session's monitors of an event of an exchange.
    func emitExchange(_ event: @escaping MonitorQueue.Event) { for monitor in session { monitor.emit(event) } }

    /// Tells the session's monitors of a piece of a body. Those that are far behind miss it.
    func emitPiece(_ event: @escaping MonitorQueue.Event) { for monitor in session { monitor.emitPiece(event) } }

    /// Tells the session's monitors that want bodies of received bytes, which are copied once.
    func emitBody(_ bytes: UnsafeRawBufferPointer, _ event: @escaping @Sendable (any EventMonitor, Data) -> Void) {
        guard wantsBodies else { return }
        let data = Data(bytes)
        for monitor in session { monitor.emitBody(data) { event($0, data) } }
    }

    /// Tells the session's monitors that want bodies of a response that is about to be stored.
    func emitStorage(_ event: @escaping MonitorQueue.Event) {
        for monitor in session where monitor.wantsBodies { monitor.emit(event) }
    }
}

/// The monitor of every request in the process.
package enum ProcessMonitor {
    private static let queue = AtomicLazyReference<MonitorQueue>()

    /// Delivers all requests' events to `monitor`, except those of single exchanges. The first monitor stays.
    package static func set(_ monitor: any EventMonitor) { _ = queue.storeIfNil(MonitorQueue(monitor)) }

    static var current: MonitorQueue? { queue.load() }
}

extension Request {
    /// Whether a monitor of the session or of the request matches.
    package func hasMonitor(where matches: (any EventMonitor) -> Bool) -> Bool {
        let own = record.withLock { $0.extras?.hooks.monitors } ?? []
        return (context.monitors + own).contains { matches($0.monitor) }
    }
}

func exchange<T>(_ value: inout T, with new: T) -> T {
    defer { value = new }
    return value
}
