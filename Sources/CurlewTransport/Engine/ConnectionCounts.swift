internal import CurlewCore

extension Transfers {
    /// The engine's connections at this moment.
    ///
    /// The transfers say which connections are in use, so that a request costs nothing until somebody asks. Those that
    /// wait in line, which may be thousands, are counted by line.
    func snapshot() -> ConnectionSnapshot {
        loop.assertOnLoop()
        var origins: [ConnectionSnapshot.Origin: ConnectionSnapshot.Pool] = [:]
        for connection in sockets.connections.all.values {
            origins[connection.origin, default: .init()].open += 1
            origins[connection.origin]?.add(
                version: connection.version,
                age: .nanoseconds(Int64(clamping: now.nanoseconds(since: connection.since))))
        }
        var inUse = connections.openSockets
        forEachOutsideLine { transfer in
            guard case .running = transfer.stage else { return }
            switch transfer.clocks.stretch {
            case .queue: origins[transfer.plan.origin, default: .init()].waiting += 1
            case .connect: origins[transfer.plan.origin, default: .init()].opening += 1
            case .send, .firstByte, .receive:
                if let name = transfer.connection.name, let socket = sockets.connections.socket(of: name) {
                    inUse.insert(socket)
                } else {
                    // A connection without a name: it carries one request at a time.
                    origins[transfer.plan.origin]?.inUse += 1
                }
            }
        }
        forEachLine { first, count in origins[first.plan.origin, default: .init()].waiting += count }
        for socket in inUse {
            if let connection = sockets.connections[socket] { origins[connection.origin]?.inUse += 1 }
        }
        for (origin, pool) in origins where pool.inUse > pool.open { origins[origin]?.inUse = pool.open }
        return ConnectionSnapshot(origins: origins)
    }
}
