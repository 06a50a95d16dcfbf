internal import CurlewCore

/// The transfers that wait for a connection. A few of each origin wait within libcurl, which serves them as they came.
/// The others wait here, by the urgency of their requests, then by arrival.
///
/// Whenever a transfer is removed, libcurl 7 walks through everything that waits for a connection: with ten thousand
/// waiting, a request costs ten times as much as usual. A transfer that waits here also needs no handle yet.
struct ConnectionQueues {
    typealias Origin = ConnectionSnapshot.Origin

    /// The most transfers of a queue that may wait within libcurl if its origin has a multiplexed connection: enough for
    /// the streams that end in a turn.
    static let mostBehindStreams = 128
    /// The same without one: as many as the connections, of which each carries one request at a time. Transfers that
    /// entered before their origin had a queue are not counted in it, and there may be as many of them.
    private let mostBehindConnections: Int
    /// Whether an origin has a multiplexed connection.
    private let multiplexes: (Origin) -> Bool

    /// The number of transfers that wait within libcurl, of all origins.
    private(set) var inside = 0
    private var queues: [ConnectionQueue.Key: ConnectionQueue] = [:]
    /// The queues that have transfers outside of libcurl, and may have room inside.
    private var ready: [ConnectionQueue] = []

    /// `connections` is the maximum number of connections to an origin.
    init(connections: Int, multiplexes: @escaping (Origin) -> Bool) {
        mostBehindConnections = min(connections, Self.mostBehindStreams)
        self.multiplexes = multiplexes
    }

    /// Adds a transfer. Returns true if it may be given to libcurl at once. Otherwise it waits in its origin's queue
    /// until `next` returns it.
    mutating func add(_ transfer: ActiveTransfer) -> Bool {
        // A byte connection, or a transfer with its own proxy, does not wait for the connections that others of its
        // origin wait for.
        guard inside >= mostBehindConnections || !queues.isEmpty,
            !transfer.plan.makesByteConnection, transfer.request.options.proxy == nil
        else {
            addInside(transfer, of: nil)
            return true
        }
        let key = ConnectionQueue.Key(origin: transfer.plan.origin, isAlone: transfer.plan.isAlone)
        let queue = queues[key] ?? ConnectionQueue(key)
        queues[key] = queue
        if queue.isEmpty, hasRoom(queue) {
            addInside(transfer, of: queue)
            return true
        }
        transfer.entries.queue = queue
        queue.insert(transfer)
        return false
    }

    /// Whether one more of the queue's transfers may wait within libcurl.
    private func hasRoom(_ queue: ConnectionQueue) -> Bool {
        let hasStreams = !queue.key.isAlone && multiplexes(queue.key.origin)
        return queue.inside < (hasStreams ? Self.mostBehindStreams : mostBehindConnections)
    }

    /// Counts a transfer that is given to libcurl.
    private mutating func addInside(_ transfer: ActiveTransfer, of queue: ConnectionQueue?) {
        inside += 1
        transfer.entries.waitsInLibcurl = true
        transfer.entries.queue = queue
        queue?.inside += 1
    }

    /// Removes a transfer that waits no more: it has a connection, has left libcurl, or has ended in its queue. Has no
    /// effect on a transfer that was removed before.
    mutating func remove(_ transfer: ActiveTransfer) {
        let waitedInLibcurl = exchange(&transfer.entries.waitsInLibcurl, with: false)
        if waitedInLibcurl { inside -= 1 }
        guard let queue = exchange(&transfer.entries.queue, with: nil) else { return }
        if waitedInLibcurl { queue.inside -= 1 } else { queue.transferEndedOutside() }
        if queue.isEmpty {
            // `next` removes a queue that is ready. Transfers that arrive before then still belong to it.
            if queue.inside == 0, !queue.isReady { queues[queue.key] = nil }
        } else if waitedInLibcurl, !queue.isReady {
            queue.isReady = true
            ready.append(queue)
        }
    }

    /// Calls `body` with the origin of each queue and the number of its transfers outside of libcurl, unless that is 0.
    func forEachQueue(_ body: (Origin, Int) -> Void) {
        for queue in queues.values where queue.waitingCount > 0 { body(queue.key.origin, queue.waitingCount) }
    }

    /// The next transfer to give to libcurl; `nil` if none waits or there is no room.
    mutating func next() -> ActiveTransfer? {
        while let queue = ready.last {
            if hasRoom(queue), let transfer = queue.takeFirst() {
                addInside(transfer, of: queue)
                return transfer
            }
            ready.removeLast()
            queue.isReady = false
            if queue.isEmpty, queue.inside == 0 { queues[queue.key] = nil }
        }
        return nil
    }
}

/// The transfers of one origin that wait for the same connections. Used only in the loop's turns.
final class ConnectionQueue {
    struct Key: Hashable {
        let origin: ConnectionSnapshot.Origin
        /// Whether the transfers are alone on their connections, for which they do not compete with the others.
        let isAlone: Bool
    }

    let key: Key
    /// The number of the queue's transfers that libcurl has, and that have no connection yet.
    var inside = 0
    /// Whether the queue is in `ConnectionQueues.ready`: one of its transfers has left libcurl since it was last found
    /// full or empty.
    var isReady = false
    /// The most urgent first, and each urgency in order of arrival.
    private var outside: [Place] = []
    /// The index behind the places whose transfers were taken out.
    private var start = 0
    /// The number of transfers from `start` on that have ended.
    private var endedCount = 0

    private struct Place {
        let urgency: Int
        /// `nil` if it was taken out.
        var transfer: ActiveTransfer?
    }

    init(_ key: Key) { self.key = key }

    /// Whether no transfer waits outside of libcurl.
    var isEmpty: Bool { start == outside.count }

    /// The number of transfers that wait outside of libcurl.
    var waitingCount: Int { outside.count - start - endedCount }

    /// Adds a transfer behind those that are as urgent.
    func insert(_ transfer: ActiveTransfer) {
        let place = Place(urgency: transfer.request.options.priority.urgency, transfer: transfer)
        guard let last = outside.last, place.urgency < last.urgency else { return outside.append(place) }
        // A binary search for the first place that is less urgent.
        var (low, high) = (start, outside.count)
        while low < high {
            let middle = (low + high) / 2
            if outside[middle].urgency <= place.urgency { low = middle + 1 } else { high = middle }
        }
        outside.insert(place, at: low)
    }

    /// Called when a transfer that waits outside has ended. Ended transfers are removed once they are the majority: if
    /// no connection becomes free, `takeFirst` is not called and skips none.
    func transferEndedOutside() {
        endedCount += 1
        guard endedCount * 2 > outside.count - start else { return }
        outside.removeFirst(start)
        outside.removeAll { $0.transfer?.hasEnded ?? true }
        (start, endedCount) = (0, 0)
    }

    /// Takes out the first transfer that has not ended.
    func takeFirst() -> ActiveTransfer? {
        defer {
            if start * 2 > outside.count {
                outside.removeFirst(start)
                start = 0
            }
        }
        while start < outside.count {
            let transfer = exchange(&outside[start].transfer, with: nil)
            start += 1
            if let transfer, !transfer.hasEnded { return transfer }
            endedCount -= 1
        }
        return nil
    }
}
