internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Brings events to monitors: each gets everything in order on its own queue.
///
/// Monitors that share a queue share a lane, so an event costs one append a lane, and a lane one hop for
/// all events that wait at that time. An event is a closure: its values are built on the monitor's queue.
///
/// What waits for a queue that stands still is bounded: a try has a fixed number of events, but for those that
/// come with every piece of a body, and of these a lane keeps `backlogLimit` and drops the rest.
final class MonitorHub: Sendable {
    typealias Event = @Sendable (any EventMonitor) -> Void

    private let lanes: [Lane]

    /// nil without monitors: whoever emits builds nothing then.
    init?(_ monitors: [any EventMonitor]) {
        guard !monitors.isEmpty else { return nil }
        var byQueue: [(queue: DispatchQueue, monitors: [any EventMonitor])] = []
        for monitor in monitors {
            let queue = monitor.queue
            if let index = byQueue.firstIndex(where: { $0.queue === queue }) {
                byQueue[index].monitors.append(monitor)
            } else {
                byQueue.append((queue, [monitor]))
            }
        }
        lanes = byQueue.map { Lane(queue: $0.queue, monitors: $0.monitors) }
    }

    func emit(_ event: @escaping Event) {
        for lane in lanes { lane.append(Entry(event: event)) }
    }

    /// An event that comes again and again, which a lane without room leaves out.
    func emitProgress(_ event: @escaping Event) {
        for lane in lanes { lane.append(Entry(event: event, cost: Self.eventCost)) }
    }

    /// Bytes of a body, copied once, and only if a monitor wants them.
    func emitBody(_ bytes: UnsafeRawBufferPointer, _ makeEvent: (Data, Ear) -> Event) {
        var copy: Data?
        for lane in lanes where lane.takesBody(bytes.count) {
            let data = copy ?? Data(bytes)
            copy = data
            lane.append(Entry(event: makeEvent(data, lane.ear), cost: bytes.count + Self.eventCost, isBody: true))
        }
    }

    /// Bytes of a body that were copied before.
    func emitBody(_ data: Data, _ makeEvent: (Ear) -> Event) {
        for lane in lanes where lane.takesBody(data.count) {
            lane.append(Entry(event: makeEvent(lane.ear), cost: data.count + Self.eventCost, isBody: true))
        }
    }

    /// Whether there is a monitor that may want the bytes of bodies.
    var wantsBodies: Bool { lanes.contains { $0.wantsBodies } }

    /// Bytes of bodies, and events about their pieces, that wait for a lane's queue.
    static let backlogLimit = 16 * 1024 * 1024
    private static let eventCost = 256

    private struct Entry {
        let event: Event
        /// 0 for events of which a try has only so many.
        var cost = 0
        var isBody = false
    }

    /// Finds out who does nothing with the bytes of bodies: such a monitor says so when it is given some.
    final class Ear: Sendable {
        private let deaf = Lock<ObjectIdentifier?>(nil)

        /// A monitor of this type has let bytes pass.
        func passed(_ type: any EventMonitor.Type) { deaf.withLock { $0 = ObjectIdentifier(type) } }

        /// Whether this monitor, which was given bytes a moment ago, was the one. Another one that it passes its
        /// events on to may be deaf although it is not.
        fileprivate func isDeaf(_ monitor: any EventMonitor) -> Bool {
            deaf.withLock { exchange(&$0, with: nil) } == ObjectIdentifier(type(of: monitor))
        }
    }

    private final class Lane: Sendable {
        let ear = Ear()
        private let queue: DispatchQueue
        private let monitors: [any EventMonitor]
        private let handoff = Handoff()
        private let waiting: Lock<Waiting>

        private struct Waiting {
            var entries: [Entry] = []
            /// What the entries cost together.
            var cost = 0
            var isScheduled = false
            /// Which monitors want the bytes of bodies, as far as is known.
            var wantsBody: [Bool]
            var wantsBodies = true
        }

        init(queue: DispatchQueue, monitors: [any EventMonitor]) {
            self.queue = queue
            self.monitors = monitors
            waiting = Lock(Waiting(wantsBody: monitors.map { _ in true }))
        }

        var wantsBodies: Bool { waiting.withLock { $0.wantsBodies } }

        func takesBody(_ count: Int) -> Bool {
            waiting.withLock { $0.wantsBodies && $0.cost + count <= MonitorHub.backlogLimit }
        }

        func append(_ entry: Entry) {
            let mustSchedule = waiting.withLock { waiting in
                if entry.cost > 0, waiting.cost + entry.cost > MonitorHub.backlogLimit { return false }
                waiting.entries.append(entry)
                waiting.cost += entry.cost
                defer { waiting.isScheduled = true }
                return !waiting.isScheduled
            }
            if mustSchedule { handoff(to: queue) { self.deliver() } }
        }

        private func deliver() {
            // One batch a hop: other work on the queue gets its turn between batches.
            let entries = waiting.withLock { waiting in
                waiting.isScheduled = false
                return exchange(&waiting.entries, with: [])
            }
            for entry in entries {
                if entry.isBody { deliverBody(entry) } else { for monitor in monitors { entry.event(monitor) } }
                if entry.cost > 0 { waiting.withLock { $0.cost -= entry.cost } }
            }
        }

        private func deliverBody(_ entry: Entry) {
            let wantsBody = waiting.withLock { $0.wantsBody }
            for (index, monitor) in monitors.enumerated() where wantsBody[index] {
                entry.event(monitor)
                guard ear.isDeaf(monitor) else { continue }
                waiting.withLock { waiting in
                    waiting.wantsBody[index] = false
                    waiting.wantsBodies = waiting.wantsBody.contains(true)
                }
            }
        }
    }
}

func exchange<T>(_ value: inout T, with new: T) -> T {
    defer { value = new }
    return value
}
