internal import CurlewCore

/// The transfers that libcurl has, and those that wait for a connection. They wait here, by the urgency of their
/// requests, then by arrival: libcurl gets no more transfers of an origin than it may have connections, or free streams
/// for.
///
/// libcurl has a line of its own, of all origins and without priorities. When a transfer ends, it tries the first one
/// of that line; if this is one of a busy origin, the connection that has become free remains unused. And whenever a
/// transfer is removed, libcurl 7 walks through all that wait.
struct ConnectionQueues {
    /// What the transfers of one queue have in common: they can use the same connections, except that some of them cannot
    /// share one.
    struct Key: Hashable {
        let origin: ConnectionSnapshot.Origin
        /// The transfer's own proxy; `nil` if it uses the transport's.
        let proxy: Proxy?
        /// See `RequestPlan.isAlone`.
        let isAlone: Bool
    }

    /// The most connections to an origin. Unless one of them is multiplexed, libcurl gets no more transfers of a queue.
    private let connections: Int
    /// The most transfers of a queue that may wait within libcurl, if its origin has a multiplexed connection: enough
    /// for the streams that end in a turn.
    static let mostBehindStreams = 128
    private let proxy: Proxy
    /// Whether an origin has a multiplexed connection.
    private let multiplexes: (ConnectionSnapshot.Origin) -> Bool

    /// The number of transfers that libcurl has, without those that make byte connections.
    private(set) var count = 0
    /// Empty until `count` reaches `connections`: before, none has to wait. While there are queues, each transfer
    /// that libcurl has is counted in one.
    private var queues: [Key: ConnectionQueue] = [:]
    /// The queues with waiting transfers for which there may be room.
    private var ready: [ConnectionQueue] = []

    /// `connections` is the maximum number of connections to an origin, and `proxy` the transport's proxy.
    init(connections: Int, proxy: Proxy, multiplexes: @escaping (ConnectionSnapshot.Origin) -> Bool) {
        self.connections = connections
        self.proxy = proxy
        self.multiplexes = multiplexes
    }

    /// Adds a transfer. Returns true if it is to be given to libcurl at once. Otherwise it waits until `next` returns
    /// it. `others` has at least the transfers that libcurl has.
    mutating func add(_ transfer: ActiveTransfer, besides others: [ActiveTransfer]) -> Bool {
        // The number of byte connections is not limited.
        if transfer.plan.makesByteConnection { return true }
        if queues.isEmpty {
            guard count >= connections else {
                enterLibcurl(transfer, of: nil)
                return true
            }
            for other in others where other.entries.isInLibcurl { queue(for: other).count(other) }
        }
        let queue = queue(for: transfer)
        if !queue.isWaiting, hasRoom(queue) {
            enterLibcurl(transfer, of: queue)
            return true
        }
        queue.append(transfer)
        return false
    }

    private mutating func queue(for transfer: ActiveTransfer) -> ConnectionQueue {
        let own = transfer.request.options.proxy
        let key = Key(
            origin: transfer.plan.origin, proxy: own == proxy ? nil : own, isAlone: transfer.plan.isAlone)
        if let known = queues[key] { return known }
        let made = ConnectionQueue(key)
        queues[key] = made
        return made
    }

    private mutating func enterLibcurl(_ transfer: ActiveTransfer, of queue: ConnectionQueue?) {
        count += 1
        transfer.entries.isInLibcurl = true
        transfer.entries.waitsInLibcurl = true
        queue?.count(transfer)
    }

    /// Whether libcurl may get one more of the queue's transfers.
    private func hasRoom(_ queue: ConnectionQueue) -> Bool {
        if queue.inLibcurl < connections { return true }
        return !queue.key.isAlone && queue.waitingInLibcurl < Self.mostBehindStreams && multiplexes(queue.key.origin)
    }

    /// Called when libcurl has a connection for a transfer, or begins to make one, and when the transfer is sent.
    mutating func foundConnection(_ transfer: ActiveTransfer) {
        transfer.entries.queue?.foundConnection(transfer)
        transfer.entries.waitsInLibcurl = false
        // The connection may be the first multiplexed one.
        if let queue = transfer.entries.queue, queue.isWaiting { makeReady(queue) }
    }

    /// Removes a transfer that has left libcurl, or has ended while it waited. Has no effect on others.
    mutating func remove(_ transfer: ActiveTransfer) {
        let queue = exchange(&transfer.entries.queue, with: nil)
        if transfer.entries.isInLibcurl {
            count -= 1
            queue?.leftLibcurl(transfer)
            transfer.entries.isInLibcurl = false
            transfer.entries.waitsInLibcurl = false
        } else {
            queue?.endedWaiting(transfer)
        }
        guard let queue else { return }
        if queue.isWaiting { makeReady(queue) } else { forgetIfEmpty(queue) }
    }

    private mutating func makeReady(_ queue: ConnectionQueue) {
        if queue.isReady { return }
        queue.isReady = true
        ready.append(queue)
    }

    /// A queue that is ready remains until `next` has seen it. Otherwise its key could get a second one.
    private mutating func forgetIfEmpty(_ queue: ConnectionQueue) {
        if queue.inLibcurl == 0, !queue.isWaiting, !queue.isReady { queues[queue.key] = nil }
    }

    /// Calls `body` with the origin of each queue and the number of its waiting transfers, unless that is 0.
    func forEachQueue(_ body: (ConnectionSnapshot.Origin, Int) -> Void) {
        for queue in queues.values where queue.waitingCount > 0 { body(queue.key.origin, queue.waitingCount) }
    }

    /// The next transfer to give to libcurl; `nil` if none waits or there is no room.
    mutating func next() -> ActiveTransfer? {
        while let queue = ready.last {
            if hasRoom(queue), let transfer = queue.takeFirst() {
                enterLibcurl(transfer, of: queue)
                return transfer
            }
            ready.removeLast()
            queue.isReady = false
            forgetIfEmpty(queue)
        }
        return nil
    }
}

/// The transfers that can use the same connections. Used only in the loop's turns.
final class ConnectionQueue {
    let key: ConnectionQueues.Key
    /// The number of transfers that libcurl has.
    private(set) var inLibcurl = 0
    /// The number of those that have no connection yet.
    private(set) var waitingInLibcurl = 0
    /// Whether the queue is in `ConnectionQueues.ready`.
    var isReady = false
    /// By urgency, the most urgent first; empty until a transfer has to wait.
    private var lines: [WaitingLine] = []
    /// The number of transfers that wait here.
    private(set) var waitingCount = 0

    init(_ key: ConnectionQueues.Key) { self.key = key }

    var isWaiting: Bool { waitingCount > 0 }

    // MARK: Transfers that libcurl has

    func count(_ transfer: ActiveTransfer) {
        transfer.entries.queue = self
        inLibcurl += 1
        if transfer.entries.waitsInLibcurl { waitingInLibcurl += 1 }
    }

    func foundConnection(_ transfer: ActiveTransfer) { if transfer.entries.waitsInLibcurl { waitingInLibcurl -= 1 } }

    func leftLibcurl(_ transfer: ActiveTransfer) {
        foundConnection(transfer)
        inLibcurl -= 1
    }

    // MARK: Transfers that wait here

    func append(_ transfer: ActiveTransfer) {
        transfer.entries.queue = self
        waitingCount += 1
        if lines.isEmpty { lines = [WaitingLine](repeating: WaitingLine(), count: 8) }
        lines[transfer.request.options.priority.urgency].append(transfer)
    }

    /// Called when a transfer that waited has ended.
    func endedWaiting(_ transfer: ActiveTransfer) {
        waitingCount -= 1
        lines[transfer.request.options.priority.urgency].transferEnded()
    }

    /// Takes out the most urgent transfer, of several the first.
    func takeFirst() -> ActiveTransfer? {
        for index in lines.indices {
            guard let transfer = lines[index].takeFirst() else { continue }
            waitingCount -= 1
            return transfer
        }
        return nil
    }
}

/// Transfers in order of arrival.
private struct WaitingLine {
    /// `nil` if the transfer was taken out.
    private var transfers: [ActiveTransfer?] = []
    /// The index of the first one that was not taken out.
    private var start = 0
    /// The number of transfers from `start` on that have ended. They are skipped.
    private var endedCount = 0

    mutating func append(_ transfer: ActiveTransfer) { transfers.append(transfer) }

    /// Removes the transfers that have ended once they are the majority, so that they are released even while no
    /// connection becomes free.
    mutating func transferEnded() {
        endedCount += 1
        guard endedCount * 2 > transfers.count - start else { return }
        transfers.removeFirst(start)
        transfers.removeAll { $0?.hasEnded ?? true }
        (start, endedCount) = (0, 0)
    }

    /// Takes out the first transfer that has not ended.
    mutating func takeFirst() -> ActiveTransfer? {
        defer {
            if start * 2 > transfers.count {
                transfers.removeFirst(start)
                start = 0
            }
        }
        while start < transfers.count {
            let transfer = exchange(&transfers[start], with: nil)
            start += 1
            if let transfer, !transfer.hasEnded { return transfer }
            endedCount -= 1
        }
        return nil
    }
}
