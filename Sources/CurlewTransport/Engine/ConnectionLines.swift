internal import CurlewCore

/// The transfers that wait for a connection: a few of each origin within libcurl, the others here, first come first served.
///
/// libcurl 7 walks along everything that waits for a connection whenever a transfer is taken out: with ten thousand waiting
/// that is ten times what a request costs otherwise. And a transfer that waits here needs no handle yet.
struct ConnectionLines {
    /// How many of an origin may wait within libcurl. Enough that no connection stays idle until the end of a turn.
    static let most = 128

    /// Within libcurl, of all origins.
    private(set) var waiting = 0
    private var lines: [String: ConnectionLine] = [:]
    private var ready: [ConnectionLine] = []

    /// Whether the transfer may be given to libcurl at once; where not, it stands in line.
    mutating func mayEnter(_ transfer: ActiveTransfer) -> Bool {
        // One with a proxy of its own does not wait for what the others of its origin wait for.
        guard waiting >= Self.most || !lines.isEmpty, transfer.request.options.proxy == nil else {
            enter(transfer, from: nil)
            return true
        }
        let line = line(of: transfer)
        if line.hasRoom, line.isEmpty {
            enter(transfer, from: line)
            return true
        }
        transfer.line = line
        line.append(transfer)
        return false
    }

    private mutating func enter(_ transfer: ActiveTransfer, from line: ConnectionLine?) {
        waiting += 1
        transfer.waitsForConnection = true
        transfer.line = line
        line?.inside += 1
    }

    private mutating func line(of transfer: ActiveTransfer) -> ConnectionLine {
        let origin = Self.origin(of: transfer.plan.url)
        if let line = lines[origin] { return line }
        let line = ConnectionLine(origin: origin)
        lines[origin] = line
        return line
    }

    /// Scheme, host and port of a URL that has them.
    static func origin(of url: String) -> String {
        var slashes = 0
        let end = url.utf8.firstIndex { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3 || (slashes == 2 && (byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")))
        }
        return String(url[..<(end ?? url.endIndex)])
    }

    /// The transfer has ended, where it ever was.
    mutating func ended(_ transfer: ActiveTransfer) {
        if transfer.waitsForConnection { return left(transfer) }
        guard let line = transfer.line else { return }
        transfer.line = nil
        line.hasEndedOutside()
        if line.isEmpty, line.inside == 0, !line.isReady { lines[line.origin] = nil }
    }

    /// The transfer has a connection, or libcurl no longer has it.
    mutating func left(_ transfer: ActiveTransfer) {
        guard transfer.waitsForConnection else { return }
        transfer.waitsForConnection = false
        waiting -= 1
        guard let line = transfer.line else { return }
        transfer.line = nil
        line.inside -= 1
        if line.isEmpty {
            // `next` forgets one that is ready: what comes before that still belongs to it.
            if line.inside == 0, !line.isReady { lines[line.origin] = nil }
        } else if !line.isReady {
            line.isReady = true
            ready.append(line)
        }
    }

    /// The next one to be given to libcurl, where there is room for it.
    mutating func next() -> ActiveTransfer? {
        while let line = ready.last {
            if line.hasRoom, let transfer = line.first() {
                enter(transfer, from: line)
                return transfer
            }
            ready.removeLast()
            line.isReady = false
            if line.isEmpty, line.inside == 0 { lines[line.origin] = nil }
        }
        return nil
    }
}

/// The transfers of one origin that wait for a connection. The loop's own, as they are.
final class ConnectionLine {
    let origin: String
    /// How many of them are within libcurl.
    var inside = 0
    var isReady = false
    /// nil where one was taken out.
    private var outside: [ActiveTransfer?] = []
    private var start = 0
    /// How many from `start` on have ended.
    private var endedCount = 0

    init(origin: String) { self.origin = origin }

    var hasRoom: Bool { inside < ConnectionLines.most }
    /// Nothing waits outside.
    var isEmpty: Bool { start == outside.count }

    func append(_ transfer: ActiveTransfer) { outside.append(transfer) }

    /// One that waits outside has ended. They go when they are the greater part: where no connection becomes free, no
    /// transfer comes to pass them by.
    func hasEndedOutside() {
        endedCount += 1
        guard endedCount * 2 > outside.count - start else { return }
        outside.removeFirst(start)
        outside.removeAll { $0?.hasEnded ?? true }
        (start, endedCount) = (0, 0)
    }

    /// Takes the first that has not ended meanwhile.
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
