internal import CurlewCore

extension Transfers {
    /// The engine's connections at this moment.
    ///
    /// The transfers say which connections are in use, so that a request costs nothing until somebody asks. Those that
    /// wait in a queue, which may be thousands, are counted by queue.
    func snapshot() -> ConnectionSnapshot {
        loop.assertOnLoop()
        var origins: [ConnectionSnapshot.Origin: ConnectionSnapshot.Pool] = [:]
        for connection in sockets.connections.all.values {
            origins[connection.origin, default: .init()].open += 1
            origins[connection.origin]?.add(
                version: connection.version,
                age: .nanoseconds(Int64(clamping: now.nanoseconds(since: connection.since))))
        }
        var inUse = byteConnections.openSockets
        forEachRunning { transfer, _, use in
            switch use {
            case .awaits: origins[transfer.plan.origin, default: .init()].waiting += 1
            case .opens: origins[transfer.plan.origin, default: .init()].opening += 1
            case .uses(let socket?): inUse.insert(socket)
            case .uses(nil): origins[transfer.plan.origin]?.inUse += 1
            }
        }
        queues.forEachQueue { origin, count in origins[origin, default: .init()].waiting += count }
        for socket in inUse {
            if let connection = sockets.connections[socket] { origins[connection.origin]?.inUse += 1 }
        }
        for (origin, pool) in origins where pool.inUse > pool.open { origins[origin]?.inUse = pool.open }
        return ConnectionSnapshot(origins: origins)
    }

    /// The connections that the next requests to an origin may use, as far as is known. Others to the same server, such
    /// as byte connections and retired ones, do not count towards its limit.
    func usablePool(of origin: ConnectionSnapshot.Origin) -> ConnectionSnapshot.Pool {
        loop.assertOnLoop()
        var pool = ConnectionSnapshot.Pool()
        var (usable, refusing) = (Set<Int32>(), Set<Int32>())
        for (socket, connection) in sockets.connections.all
        where connection.origin == origin && !connection.isRetired
            && sockets.connections.usesMulti(connection.multi, for: origin)
        {
            let age = now.nanoseconds(since: connection.since)
            pool.add(version: connection.version, age: .nanoseconds(Int64(clamping: age)))
            if settings.retirement?.verdict(age: age, requests: connection.requests) == .refuses {
                refusing.insert(socket)
            } else {
                usable.insert(socket)
            }
        }
        var (inUse, nameless) = (Set<Int32>(), 0)
        forEachRunning { transfer, multi, use in
            guard transfer.plan.origin == origin, sockets.connections.usesMulti(multi, for: origin) else { return }
            switch use {
            case .awaits: if transfer.plan.opensAnother { pool.opening += 1 }
            case .opens: pool.opening += 1
            case .uses(let socket?): inUse.insert(socket)
            case .uses(nil): nameless += 1
            }
        }
        // A connection that takes no further request counts towards the server's limit while it carries its last one.
        usable.formUnion(refusing.intersection(inUse))
        (pool.open, pool.inUse) = (usable.count, min(usable.count, inUse.intersection(usable).count + nameless))
        return pool
    }

    /// Calls `body` with each transfer that has a handle, the index of its multi handle, and its use of a connection.
    private func forEachRunning(_ body: (ActiveTransfer, Int, ConnectionUse) -> Void) {
        forEachOutsideQueues { transfer in
            guard case .running = transfer.stage, let easy = transfer.easy else { return }
            switch transfer.clocks.stretch {
            case .queue: body(transfer, easy.multi, .awaits)
            case .connect: body(transfer, easy.multi, .opens)
            case .send, .firstByte, .receive:
                body(transfer, easy.multi, .uses(sockets.connections.socket(of: transfer.connection.name)))
            }
        }
    }

    /// Whether the transfer is to open one more connection, and its origin has as many as it may have. libcurl would
    /// close an idle connection for it, or let it wait.
    func hasNothingToOpen(_ transfer: ActiveTransfer) -> Bool {
        guard transfer.plan.opensAnother else { return false }
        let (pool, limits) = (usablePool(of: transfer.plan.origin), settings.limits)
        // A spare multi handle has its part of the limit alone.
        let most = sockets.connections.spareMulti(of: transfer.plan.origin) == nil ? limits.host : limits.share(of: 0)
        return pool.open + pool.opening >= most
    }
}

/// What a transfer that has a handle does with a connection.
private enum ConnectionUse {
    /// It waits for one within libcurl.
    case awaits
    case opens
    /// It uses the connection with this socket; `nil` if that has no name, because it carries one request at a time, or
    /// is not known.
    case uses(Int32?)
}
