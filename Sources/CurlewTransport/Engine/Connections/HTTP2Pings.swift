internal import CCurl
internal import CurlewCore

/// When the next PINGs are due.
struct HTTP2Pings {
    /// `.never` while no request runs.
    private(set) var due = LoopInstant.never

    /// Called when a transport that sends PINGs sends a request.
    mutating func requestSent(at now: LoopInstant, every interval: UInt64) {
        guard due == .never else { return }
        due = now.advanced(byNanoseconds: interval)
    }

    /// Called when PINGs were due. `isNeeded`: there are connections that get further ones.
    mutating func sent(at now: LoopInstant, every interval: UInt64, isNeeded: Bool) {
        due = isNeeded ? now.advanced(byNanoseconds: interval) : .never
    }
}

// curl_easy_upkeep queues a PING on each connection of a multi handle, and from libcurl 8.1 on does not write it.
// Running a connection with requests afterwards writes the PING. An idle connection cannot be run: its PINGs would be
// written together, before its next request, and servers take several in a row for an attack. So an idle connection is
// shut down at its second PING.
extension Transfers {
    /// Sends a PING on each HTTP/2 connection with running requests. Called when PINGs are due.
    func sendPings() {
        loop.assertOnLoop()
        guard let interval = settings.pingInterval else { return }
        var busy: [Int: Set<Int32>] = [:]
        forEachOutsideQueues { transfer in
            guard transfer.sending.hasBegun,
                let (socket, connection) = sockets.connections.find(transfer.connection.name),
                connection.version == .http2
            else { return }
            busy[connection.multi, default: []].insert(socket)
        }
        pings.sent(at: now, every: interval, isNeeded: !busy.isEmpty)
        for (index, sockets) in busy {
            guard let multi = handles.multi(at: index), multi.queuePings(every: interval / 1_000_000) else { continue }
            let full = self.sockets.connections.pingsQueued(in: index, carrying: sockets)
            for socket in full { self.sockets.endConnection(at: socket) }
            for socket in sockets { multi.socketReady(socket, CURL_CSELECT_IN) }
        }
    }
}
