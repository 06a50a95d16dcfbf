internal import CurlewLocks
internal import Dispatch
package import Foundation
internal import Synchronization

/// Brings events to monitors: each gets everything in order on its own queue.
///
/// Monitors that share a queue share a lane. An event is a closure, kept once for all lanes; its values are built on
/// the monitor's queue. A lane takes all that waits with one hop to its queue.
///
/// Each hop wakes a thread, which costs more than all events of a request. So an event that others follow
/// (`emitLeading`) waits for them where its lane had something a moment ago, for some milliseconds at most. The last one of
/// a request waits only while others are in flight: when none is, all events are in the monitors' queues.
///
/// What waits for a queue that stands still is bounded: a try has a fixed number of events, but for those that
/// come with every piece of a body, and of these a lane keeps `backlogLimit` and drops the rest.
package final class MonitorHub: Sendable {
    package typealias Event = @Sendable (any EventMonitor) -> Void

    private let lanes: [MonitorLane]
    private let backlog: Lock<MonitorBacklog>
    // Every request asks for these and counts itself, on every thread at once: without the lock, which they would wait for.
    private let deaf = Atomic(UsualEvents().rawValue)
    private let inFlight = Atomic(0)

    package convenience init?(_ monitors: [any EventMonitor]) { self.init(monitors.map(Listed.init)) }

    /// nil without monitors: then no event is built.
    init?(_ monitors: [Listed]) {
        guard !monitors.isEmpty else { return nil }
        var byQueue: [(queue: DispatchQueue, monitors: [any EventMonitor])] = []
        for listed in monitors {
            if let index = byQueue.firstIndex(where: { $0.queue === listed.queue }) {
                byQueue[index].monitors.append(listed.monitor)
            } else {
                byQueue.append((listed.queue, [listed.monitor]))
            }
        }
        lanes = byQueue.map { MonitorLane(queue: $0.queue, monitors: $0.monitors) }
        backlog = Lock(MonitorBacklog(monitors: byQueue.map { $0.monitors.count }))
    }

    /// A monitor and its queue, which was asked for without a lock: that is foreign code.
    struct Listed {
        let monitor: any EventMonitor
        let queue: DispatchQueue

        init(_ monitor: any EventMonitor) {
            self.monitor = monitor
            queue = monitor.queue
        }
    }

    func contains(where isMeant: (any EventMonitor) -> Bool) -> Bool {
        lanes.contains { $0.monitors.contains(where: isMeant) }
    }

    // MARK: Events for every monitor

    /// Those of the events that every request has that no monitor does anything with, as far as is known.
    // Relaxed: a bit is a hint that stands alone. A thread that does not see it yet tells an event that no monitor does
    // anything with.
    var unheard: UsualEvents { UsualEvents(rawValue: deaf.load(ordering: .relaxed)) }

    /// An event that nothing may follow for a while.
    package func emit(_ event: @escaping Event) { start(backlog.withLock { $0.add(event, isLeading: false) }) }

    /// An event that others of the same request follow. `usual`: which of those that every request has, if one of them.
    func emitLeading(_ usual: UsualEvents, _ event: @escaping Event) {
        start(backlog.withLock { $0.add(event, usual, isLeading: true) })
    }

    /// The last event of a request or of its handler.
    func emitLast(_ usual: UsualEvents, _ event: @escaping Event) {
        // Counted under the lock: the last that leaves takes it afterwards, and brings what waits. The request itself may or
        // may not have left. Relaxed is enough on any processor: had the last one held the lock before, its subtraction would
        // come before this load by the lock's own order, and the load could not read an older count.
        start(backlog.withLock { $0.add(event, usual, isLeading: inFlight.load(ordering: .relaxed) > 1) })
    }

    func requestJoined() { inFlight.wrappingAdd(1, ordering: .relaxed) }

    func requestLeft() {
        guard inFlight.wrappingSubtract(1, ordering: .relaxed).newValue == 0 else { return }
        start(backlog.withLock { $0.allLeft() })
    }

    // MARK: Events for those who listen and have room

    /// An event that comes again and again, which a lane without room leaves out.
    func emitProgress(_ event: @escaping Event) {
        for lane in lanes.indices { add(MonitorBacklog.Entry(event: event, cost: Self.eventCost), to: lane) }
    }

    /// The head of a response, for monitors that want it.
    package func emitHead(_ event: @escaping Event) {
        for lane in lanes.indices where takes(.head, 0, lane) {
            add(MonitorBacklog.Entry(event: event, dear: .head), to: lane, isLeading: true)
        }
    }

    /// Bytes of a body, copied once, and only if a monitor wants them.
    func emitBody(_ bytes: UnsafeRawBufferPointer, _ makeEvent: (Data) -> Event) {
        var made: Event?
        for lane in lanes.indices where takes(.body, bytes.count, lane) {
            let event = made ?? makeEvent(Data(bytes))
            made = event
            addBody(of: bytes.count, event, to: lane)
        }
    }

    /// Bytes of a body that were copied before.
    package func emitBody(_ data: Data, _ event: @escaping Event) {
        for lane in lanes.indices where takes(.body, data.count, lane) { addBody(of: data.count, event, to: lane) }
    }

    /// Whether there is a monitor that may want this.
    package func wants(_ dear: Dear) -> Bool { !unheard.contains(dear.usual) }

    private func takes(_ dear: Dear, _ count: Int, _ lane: Int) -> Bool {
        backlog.withLock { $0[lane].wants(dear) && $0[lane].cost + count <= Self.backlogLimit }
    }

    private func addBody(of count: Int, _ event: @escaping Event, to lane: Int) {
        add(MonitorBacklog.Entry(event: event, cost: count + Self.eventCost, dear: .body), to: lane)
    }

    private func add(_ entry: MonitorBacklog.Entry, to lane: Int, isLeading: Bool = false) {
        let hop = backlog.withLock { $0.add(entry, to: lane, isLeading: isLeading) }
        if let hop { start(hop, of: lane) }
    }

    // MARK: Delivery

    private func start(_ hops: [(lane: Int, hop: MonitorBacklog.Hop)]) {
        for (lane, hop) in hops { start(hop, of: lane) }
    }

    private func start(_ hop: MonitorBacklog.Hop, of lane: Int) {
        switch hop {
        case .now: lanes[lane].handoff(to: lanes[lane].queue) { self.deliver(to: lane) { $0.isHopping = false } }
        case .later(let time):
            lanes[lane].handoff(to: lanes[lane].queue, at: time) { self.deliver(to: lane) { $0.isHopSet = false } }
        }
    }

    private func deliver(to index: Int, _ arrived: @Sendable (inout MonitorBacklog.Lane) -> Void) {
        let lane = lanes[index]
        // Most lanes have one monitor, and a copy of it costs as much as an event.
        let (first, isAlone) = (lane.monitors[0], lane.monitors.count == 1)
        // One batch a hop: other work on the queue gets its turn between batches.
        var (batches, known) = backlog.withLock { backlog in
            arrived(&backlog[index])
            return (backlog.takeAll(for: index), backlog[index].known)
        }
        for batch in batches {
            for entry in batch.entries {
                guard known.isSuperset(of: entry.usual) else {
                    tell(entry, on: index)
                    known.insert(entry.usual)
                    continue
                }
                guard let dear = entry.dear else {
                    if isAlone { entry.event(first) } else { for monitor in lane.monitors { entry.event(monitor) } }
                    if entry.cost > 0 { backlog.withLock { $0[index].cost -= entry.cost } }
                    continue
                }
                let listeners = backlog.withLock { $0[index][dear].each }
                for (number, monitor) in lane.monitors.enumerated() where listeners[number] {
                    if EventTrial.passes(type(of: monitor), dear.usual, { entry.event(monitor) }) {
                        lost(dear, number, on: index)
                    }
                }
                backlog.withLock { $0[index].cost -= entry.cost }
            }
        }
    }

    /// A monitor does nothing with what is dear.
    private func lost(_ dear: Dear, _ monitor: Int, on index: Int) {
        backlog.withLock { backlog in
            backlog[index][dear].lost(monitor)
            if !lanes.indices.contains(where: { backlog[$0].wants(dear) }) { noneHears(dear.usual) }
        }
    }

    /// The first event of its kind, for monitors of which it is not known whether they do anything with it.
    private func tell(_ entry: MonitorBacklog.Entry, on index: Int) {
        var isDeaf = true
        for monitor in lanes[index].monitors {
            if !EventTrial.passes(type(of: monitor), entry.usual, { entry.event(monitor) }) { isDeaf = false }
        }
        if backlog.withLock({ $0.learned(entry.usual, isDeaf: isDeaf, by: index) }) { noneHears(entry.usual) }
    }

    private func noneHears(_ usual: UsualEvents) { deaf.bitwiseOr(usual.rawValue, ordering: .relaxed) }

    /// Bytes of bodies, and events about their pieces, that wait for a lane's queue.
    static let backlogLimit = 16 * 1024 * 1024
    private static let eventCost = 256
    /// How long an event waits for those that follow it.
    static let longestWait = DispatchTimeInterval.milliseconds(4)

    /// What costs more to tell than all other events of a request together, and is told only to those who listen: a
    /// response of Foundation's type, a copy of a body.
    package enum Dear {
        case head, body

        fileprivate var usual: UsualEvents {
            switch self {
            case .head: .heads
            case .body: .bodies
            }
        }
    }
}

/// Monitors that share a queue.
struct MonitorLane: Sendable {
    let queue: DispatchQueue
    /// At least one.
    let monitors: [any EventMonitor]
    let handoff = Handoff()
}

func exchange<T>(_ value: inout T, with new: T) -> T {
    defer { value = new }
    return value
}
