internal import CurlewLocks
internal import Dispatch
package import Foundation
internal import Synchronization

/// Delivers events to one monitor, in order, on the monitor's queue.
///
/// An event is a closure that calls one of the monitor's methods. Monitors of one session that have the same dispatch
/// queue share a lane, so they receive each event in the order in which they were added.
package final class MonitorQueue: Sendable {
    package typealias Event = @Sendable (any EventMonitor) -> Void

    package let monitor: any EventMonitor
    package let wantsBodies: Bool
    private let lane: EventLane

    init(_ monitor: any EventMonitor, beside others: [MonitorQueue] = []) {
        self.monitor = monitor
        wantsBodies = monitor.wantsBodies
        let queue = monitor.queue
        lane = others.first { $0.lane.serves(queue) }?.lane ?? EventLane(queue)
    }

    /// Adds an event, which is never dropped.
    package func emit(_ event: @escaping Event) { lane.add(event, to: monitor, cost: 0) }

    /// Adds an event about a piece of a body, with `count` bytes of it. Dropped if the waiting events cost too much.
    package func emitPiece(ofBytes count: Int = 0, _ event: @escaping Event) {
        lane.add(event, to: monitor, cost: EventLane.cost(ofPiece: count))
    }

    /// Adds an event with bytes of a body if the monitor wants them. Dropped if the waiting events cost too much.
    package func emitBody(_ data: Data, _ event: @escaping Event) {
        if wantsBodies { emitPiece(ofBytes: data.count, event) }
    }

    /// Whether the monitor wants bodies and there is room for `count` bytes of one.
    func accepts(bodyBytes count: Int) -> Bool {
        wantsBodies && lane.hasRoom(for: EventLane.cost(ofPiece: count))
    }
}

extension [MonitorQueue] {
    /// Adds a monitor, or each member of a `MonitorGroup`. Monitors with the same dispatch queue share a lane.
    /// Call it without holding a lock: it reads the monitor's properties, which are user code.
    package mutating func add(_ monitor: any EventMonitor) {
        if let group = monitor as? any MonitorGroup {
            for member in group.monitors { add(member) }
        } else {
            append(MonitorQueue(monitor, beside: self))
        }
    }
}

/// A monitor that passes all events on to others. Sessions and requests add its members instead, each with its own
/// queue.
package protocol MonitorGroup: EventMonitor {
    var monitors: [any EventMonitor] { get }
}

/// The events that wait for the monitors of one dispatch queue.
///
/// The first waiting event schedules a hop to the queue. The hop delivers all events that wait when it runs, so at most
/// one hop is scheduled at a time. Work that is put on the queue after an event was added runs after its delivery.
final class EventLane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()
    private let waiting = Lock(Waiting())

    private struct WaitingEvent: Sendable {
        let event: MonitorQueue.Event
        let monitor: any EventMonitor
        let cost: Int
    }

    private struct Waiting: Sendable {
        var events: [WaitingEvent] = []
        /// The sum of the costs of events that have not been delivered.
        var cost = 0
        var isHopScheduled = false

        func hasRoom(for cost: Int) -> Bool { self.cost + cost <= EventLane.limit }
    }

    init(_ queue: DispatchQueue) { self.queue = queue }

    /// Whether `other` is the lane's queue. Each access to `DispatchQueue.main` returns another object with the same
    /// label, so the main queue is recognized by its label.
    func serves(_ other: DispatchQueue) -> Bool {
        let main = DispatchQueue.main.label
        return queue === other || (queue.label == main && other.label == main)
    }

    /// Adds an event. An event with a cost is dropped if it would raise the cost of the waiting events above `limit`.
    func add(_ event: @escaping MonitorQueue.Event, to monitor: any EventMonitor, cost: Int) {
        waiting.withLock { waiting in
            guard cost == 0 || waiting.hasRoom(for: cost) else { return }
            waiting.cost += cost
            waiting.events.append(WaitingEvent(event: event, monitor: monitor, cost: cost))
            guard !waiting.isHopScheduled else { return }
            waiting.isHopScheduled = true
            // Scheduled under the lock. Otherwise this thread could be preempted before it schedules the hop; another
            // thread then adds an event that relies on this hop, puts work on the queue, and that work runs before the
            // event.
            handoff(to: queue) { self.deliver() }
        }
    }

    func hasRoom(for cost: Int) -> Bool { waiting.withLock { $0.hasRoom(for: cost) } }

    private func deliver() {
        var events = waiting.withLock { waiting in
            waiting.isHopScheduled = false
            return exchange(&waiting.events, with: [])
        }
        // An event's cost is given back only after the event, with the bytes it holds, has been released.
        events.reverse()
        while let cost = Self.deliverLast(of: &events) {
            if cost > 0 { waiting.withLock { $0.cost -= cost } }
        }
    }

    /// Delivers, removes and releases the last event. Returns its cost, or `nil` if there is none.
    private static func deliverLast(of events: inout [WaitingEvent]) -> Int? {
        guard let next = events.popLast() else { return nil }
        next.event(next.monitor)
        return next.cost
    }

    /// The cost of an event that carries `count` bytes of a body: the bytes, and an allowance for the event itself.
    static func cost(ofPiece count: Int) -> Int { count + 256 }

    /// The maximum total cost of the waiting events.
    static let limit = 16 * 1024 * 1024
}

/// The monitors of one request: the session's, then the request's own, then the process's.
struct EventSink: Sendable {
    private let session: [MonitorQueue]
    private let own: [MonitorQueue]

    /// `nil` if there are no monitors, so that no event is built.
    init?(session: [MonitorQueue], own: [MonitorQueue]) {
        self.session = session
        self.own = if let process = ProcessMonitor.current { own + [process] } else { own }
        if session.isEmpty, self.own.isEmpty { return nil }
    }

    /// Whether a monitor of the session wants bodies. Monitors of a request or of the process never receive them.
    var wantsBodies: Bool { session.contains(where: \.wantsBodies) }

    /// Notifies all monitors of an event of the request.
    func emit(_ event: @escaping MonitorQueue.Event) {
        for queue in session { queue.emit(event) }
        for queue in own { queue.emit(event) }
    }

    /// Notifies all monitors of a chunk of a stream. Monitors whose waiting events cost too much miss it.
    func emitChunk(ofBytes count: Int, _ event: @escaping MonitorQueue.Event) {
        for queue in session { queue.emitPiece(ofBytes: count, event) }
        for queue in own { queue.emitPiece(ofBytes: count, event) }
    }

    /// Notifies the session's monitors of an event of an exchange.
    func emitExchange(_ event: @escaping MonitorQueue.Event) { for queue in session { queue.emit(event) } }

    /// Notifies the session's monitors of a piece of a body. Monitors whose waiting events cost too much miss it.
    func emitPiece(_ event: @escaping MonitorQueue.Event) { for queue in session { queue.emitPiece(event) } }

    /// Notifies the session's monitors that want bodies of received bytes, which are copied once. Monitors whose
    /// waiting events cost too much miss them.
    func emitBody(_ bytes: UnsafeRawBufferPointer, _ event: @escaping @Sendable (any EventMonitor, Data) -> Void) {
        guard session.contains(where: { $0.accepts(bodyBytes: bytes.count) }) else { return }
        let data = Data(bytes)
        for queue in session { queue.emitBody(data) { event($0, data) } }
    }

    /// Notifies the session's monitors that want bodies of a response that is about to be stored. Monitors whose
    /// waiting events cost too much miss it.
    func emitStorage(of body: Data, _ event: @escaping MonitorQueue.Event) {
        for queue in session { queue.emitBody(body, event) }
    }
}

/// The monitor of every request in the process.
package enum ProcessMonitor {
    private static let queue = AtomicLazyReference<MonitorQueue>()

    /// Delivers the events of all requests to `monitor`, except those of single exchanges. Only the first call has an
    /// effect.
    package static func set(_ monitor: any EventMonitor) { _ = queue.storeIfNil(MonitorQueue(monitor)) }

    static var current: MonitorQueue? { queue.load() }
}

extension Request {
    /// Whether a monitor of the session or of the request satisfies the predicate.
    package func hasMonitor(where matches: (any EventMonitor) -> Bool) -> Bool {
        let own = record.withLock { $0.extras?.hooks.monitorQueues } ?? []
        return (context.monitorQueues + own).contains { matches($0.monitor) }
    }
}
