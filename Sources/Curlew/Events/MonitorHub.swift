internal import CurlewLocks
internal import Dispatch

/// Brings events to monitors: each gets everything in order on its own queue.
///
/// Monitors that share a queue share a lane, so an event costs one append a lane, and a lane one hop for
/// all events that wait at that time. An event is a closure: its values are built on the monitor's queue.
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
        for lane in lanes { lane.append(event) }
    }

    private final class Lane: Sendable {
        private let queue: DispatchQueue
        private let monitors: [any EventMonitor]
        private let handoff = Handoff()
        private let waiting = Lock(Waiting())

        private struct Waiting {
            var events: [Event] = []
            var isScheduled = false
        }

        init(queue: DispatchQueue, monitors: [any EventMonitor]) {
            self.queue = queue
            self.monitors = monitors
        }

        func append(_ event: @escaping Event) {
            let isFirst = waiting.withLock { waiting in
                waiting.events.append(event)
                defer { waiting.isScheduled = true }
                return !waiting.isScheduled
            }
            if isFirst { handoff(to: queue) { self.deliver() } }
        }

        private func deliver() {
            // One batch a hop: other work on the queue gets its turn between batches.
            let events = waiting.withLock { waiting in
                waiting.isScheduled = false
                return exchange(&waiting.events, with: [])
            }
            for event in events {
                for monitor in monitors { event(monitor) }
            }
        }
    }
}

func exchange<T>(_ value: inout T, with new: T) -> T {
    defer { value = new }
    return value
}
