internal import CurlewCore

/// The transfers that wait for a connection. A limited number of each origin waits within libcurl, the others wait
/// here, first come, first served.
///
/// Whenever a transfer is removed, libcurl 7 walks through everything that waits for a connection: with ten thousand
/// waiting, a request costs ten times as much as usual. A transfer that waits here also needs no handle yet.
struct ConnectionLines {
    /// The most transfers of one origin's line that may wait within libcurl. This is enough to keep every connection
    /// busy until the end of a turn. Transfers that entered before their origin had a line are not counted in it, so
    /// twice as many of one origin may wait within libcurl.
    static let most = 128

    /// The number of transfers that wait within libcurl, of all origins.
    private(set) var inside = 0
    private var lines: [String: ConnectionLine] = [:]
    private var ready: [ConnectionLine] = []

    /// Adds a transfer. Returns true if it may be given to libcurl at once. Otherwise it waits in its origin's line
    /// until `next` returns it.
    mutating func add(_ transfer: ActiveTransfer) -> Bool {
        // A transfer with its own proxy does not wait for the connections that others of its origin wait for.
        guard inside >= Self.most || !lines.isEmpty, transfer.request.options.proxy == nil else {
            addInside(transfer, of: nil)
            return true
        }
        let line = line(of: transfer)
        if line.hasRoom, line.isEmpty {
            addInside(transfer, of: line)
            return true
        }
        transfer.entries.line = line
        line.append(transfer)
        return false
    }

    /// Counts a transfer that is given to libcurl.
    private mutating func addInside(_ transfer: ActiveTransfer, of line: ConnectionLine?) {
        inside += 1
        transfer.entries.waitsInLibcurl = true
        transfer.entries.line = line
        line?.inside += 1
    }

    private mutating func line(of transfer: ActiveTransfer) -> ConnectionLine {
        let origin = transfer.plan.wire.origin
        if let line = lines[origin] { return line }
        let line = ConnectionLine(origin: origin)
        lines[origin] = line
        return line
    }

    /// Removes a transfer that waits no more: it has a connection, has left libcurl, or has ended in its line. Has no
    /// effect on a transfer that was removed before.
    mutating func remove(_ transfer: ActiveTransfer) {
        let waitedInLibcurl = exchange(&transfer.entries.waitsInLibcurl, with: false)
        if waitedInLibcurl { inside -= 1 }
        guard let line = exchange(&transfer.entries.line, with: nil) else { return }
        if waitedInLibcurl { line.inside -= 1 } else { line.hasEndedOutside() }
        if line.isEmpty {
            // `next` removes a line that is ready. Transfers that arrive before then still belong to it.
            if line.inside == 0, !line.isReady { lines[line.origin] = nil }
        } else if waitedInLibcurl, !line.isReady {
            line.isReady = true
            ready.append(line)
        }
    }

    /// Calls `body` with the first transfer and the length of each line outside of libcurl.
    func forEachOutside(_ body: (ActiveTransfer, Int) -> Void) {
        for line in lines.values {
            if let first = line.firstWaiting { body(first, line.waitingCount) }
        }
    }

    /// The next transfer to give to libcurl; `nil` if none waits or there is no room.
    mutating func next() -> ActiveTransfer? {
        while let line = ready.last {
            if line.hasRoom, let transfer = line.first() {
                addInside(transfer, of: line)
                return transfer
            }
            ready.removeLast()
            line.isReady = false
            if line.isEmpty, line.inside == 0 { lines[line.origin] = nil }
        }
        return nil
    }
}

/// The transfers of one origin that wait for a connection. Used only in the loop's turns.
final class ConnectionLine {
    let origin: String
    /// The number of the line's transfers that libcurl has, and that have no connection yet.
    var inside = 0
    var isReady = false
    /// `nil` if the transfer was taken out.
    private var outside: [ActiveTransfer?] = []
    private var start = 0
    /// The number of transfers from `start` on that have ended.
    private var endedCount = 0

    init(origin: String) { self.origin = origin }

    var hasRoom: Bool { inside < ConnectionLines.most }
    /// Whether no transfer waits outside of libcurl.
    var isEmpty: Bool { start == outside.count }

    /// The number of transfers that wait outside of libcurl.
    var waitingCount: Int { outside.count - start - endedCount }
    /// The first transfer that waits outside of libcurl; `nil` if none waits.
    var firstWaiting: ActiveTransfer? { outside[start...].lazy.compactMap { $0 }.first { !$0.hasEnded } }

    func append(_ transfer: ActiveTransfer) { outside.append(transfer) }

    /// Called when a transfer that waits outside has ended. Ended transfers are removed once they are the majority: if
    /// no connection becomes free, `first` is not called and skips none.
    func hasEndedOutside() {
        endedCount += 1
        guard endedCount * 2 > outside.count - start else { return }
        outside.removeFirst(start)
        outside.removeAll { $0?.hasEnded ?? true }
        (start, endedCount) = (0, 0)
    }

    /// Takes out the first transfer that has not ended.
    func first() -> ActiveTransfer? {
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
