internal import Curlew
internal import Foundation

/// The monitors of the requests whose loggers were captured.
///
/// A monitor is kept while its request runs. Two kinds may never be needed, so they are bounded, and the oldest are dropped:
///
/// - Requests that no event has mentioned. There are no events from a session that has the `LoggingMonitor` only as its
///   interceptor.
/// - Requests that have finished. If a handler's serializer fails, retriers are asked after `requestDidFinish`, and the
///   next attempt has the same logger.
struct CapturedMonitors: Sendable {
    private enum Phase: Sendable { case captured, running, finished }

    private struct Entry: Sendable {
        let monitor: LogEventMonitor
        var phase = Phase.captured
    }

    private var entries: [UUID: Entry] = [:]
    private var unhandled = RecentRequests(limit: 10_000)
    private var finished = RecentRequests(limit: 1000)

    var count: Int { entries.count }

    subscript(id: UUID) -> LogEventMonitor? { entries[id]?.monitor }

    mutating func capture(_ monitor: LogEventMonitor, of id: UUID) {
        guard entries[id] == nil else { return }
        entries[id] = Entry(monitor: monitor)
        drop(unhandled.add(id), in: .captured)
    }

    mutating func markRunning(_ id: UUID) { entries[id]?.phase = .running }

    /// Returns the monitor of a request that has finished.
    mutating func finish(_ id: UUID) -> LogEventMonitor? {
        guard let monitor = entries[id]?.monitor else { return nil }
        entries[id]?.phase = .finished
        drop(finished.add(id), in: .finished)
        return monitor
    }

    private mutating func drop(_ ids: [UUID], in phase: Phase) {
        for id in ids where entries[id]?.phase == phase { entries[id] = nil }
    }
}

/// Requests in the order in which they were added.
private struct RecentRequests: Sendable {
    let limit: Int
    private var ids: [UUID] = []

    init(limit: Int) { self.limit = limit }

    /// Adds a request. Removes and returns the older half if there are more than the limit.
    mutating func add(_ id: UUID) -> [UUID] {
        ids.append(id)
        guard ids.count > limit else { return [] }
        let older = Array(ids.prefix(ids.count / 2))
        ids.removeFirst(older.count)
        return older
    }
}
