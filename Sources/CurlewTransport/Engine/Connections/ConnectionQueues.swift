internal import CurlewCore

/// The transfers that wait for a connection. A limited number of each origin waits within libcurl, the others wait
/// here, first come, first served.
///
/// Whenever a transfer is removed, libcurl 7 walks through everything that waits for a connection: with ten thousand
/// waiting, a request costs ten times as much as usual. A transfer that waits here also needs no handle yet.
struct ConnectionQueues {
    /// The most transfers of one origin's queue that may wait within libcurl. This is enough to keep every connection
    /// busy until the end of a turn. Transfers that entered before their origin had a queue are not counted in it, so
    /// twice as many of one origin may wait within libcurl.
    static let mostInside = 128

    /// The number of transfers that wait within libcurl, of all origins.
    private(set) var inside = 0
    /// By origin.
    private var queues: [String: ConnectionQueue] = [:]
    /// The queues that have transfers outside of libcurl, and may have room inside.
    private var ready: [ConnectionQueue] = []

    /// Adds a transfer. Returns true if it may be given to libcurl at once. Otherwise it waits in its origin's queue
    /// until `next` returns it.
    mutating func add(_ transfer: ActiveTransfer) -> Bool {
        // A transfer with its own proxy does not wait for the connections that others of its origin wait for.
        guard inside >= Self.mostInside || !queues.isEmpty, transfer.request.options.proxy == nil else {
            addInside(transfer, of: nil)
            return true
        }
        let origin = transfer.plan.wire.origin
        let queue = queues[origin] ?? ConnectionQueue(origin: origin)
        queues[origin] = queue
        if queue.hasRoom, queue.isEmpty {
            addInside(transfer, of: queue)
            return true
        }
        transfer.entries.queue = queue
        queue.append(transfer)
        return false
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
            if queue.inside == 0, !queue.isReady { queues[queue.origin] = nil }
        } else if waitedInLibcurl, !queue.isReady {
            queue.isReady = true
            ready.append(queue)
        }
    }

    /// Calls `body` with the first transfer and the length of each queue outside of libcurl.
    func forEachQueue(_ body: (ActiveTransfer, Int) -> Void) {
        for queue in queues.values {
            if let first = queue.firstWaiting { body(first, queue.waitingCount) }
        }
    }

    /// The next transfer to give to libcurl; `nil` if none waits or there is no room.
    mutating func next() -> ActiveTransfer? {
        while let queue = ready.last {
            if queue.hasRoom, let transfer = queue.takeFirst() {
                addInside(transfer, of: queue)
                return transfer
            }
            ready.removeLast()
            queue.isReady = false
            if queue.isEmpty, queue.inside == 0 { queues[queue.origin] = nil }
        }
        return nil
    }
}

/// The transfers of one origin that wait for a connection. Used only in the loop's turns.
final class ConnectionQueue {
    let origin: String
    /// The number of the queue's transfers that libcurl has, and that have no connection yet.
    var inside = 0
    /// Whether the queue is in `ConnectionQueues.ready`: one of its transfers has left libcurl since it was last found
    /// full or empty.
    var isReady = false
    /// `nil` if the transfer was taken out.
    private var outside: [ActiveTransfer?] = []
    private var start = 0
    /// The number of transfers from `start` on that have ended.
    private var endedCount = 0

    init(origin: String) { self.origin = origin }

    var hasRoom: Bool { inside < ConnectionQueues.mostInside }
    /// Whether no transfer waits outside of libcurl.
    var isEmpty: Bool { start == outside.count }

    /// The number of transfers that wait outside of libcurl.
    var waitingCount: Int { outside.count - start - endedCount }
    /// The first transfer that waits outside of libcurl; `nil` if none waits.
    var firstWaiting: ActiveTransfer? { outside[start...].lazy.compactMap { $0 }.first { !$0.hasEnded } }

    func append(_ transfer: ActiveTransfer) { outside.append(transfer) }

    /// Called when a transfer that waits outside has ended. Ended transfers are removed once they are the majority: if
    /// no connection becomes free, `takeFirst` is not called and skips none.
    func transferEndedOutside() {
        endedCount += 1
        guard endedCount * 2 > outside.count - start else { return }
        outside.removeFirst(start)
        outside.removeAll { $0?.hasEnded ?? true }
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
            let transfer = exchange(&outside[start], with: nil)
            start += 1
            if let transfer, !transfer.hasEnded { return transfer }
            endedCount -= 1
        }
        return nil
    }
}
