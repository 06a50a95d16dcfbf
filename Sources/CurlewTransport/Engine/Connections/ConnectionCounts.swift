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
                if let socket = sockets.connections.socket(of: transfer.connection.name) {
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
        forEachOutsideLine { transfer in
            guard case .running = transfer.stage, let easy = transfer.easy, transfer.plan.origin == origin,
                sockets.connections.usesMulti(easy.multi, for: origin)
            else { return }
            switch transfer.clocks.stretch {
            case .queue: if transfer.plan.opensAnother { pool.opening += 1 }
            case .connect: pool.opening += 1
            case .send, .firstByte, .receive:
                if let socket = sockets.connections.socket(of: transfer.connection.name) {
                    inUse.insert(socket)
                } else {
                    nameless += 1
                }
            }
        }
        // A connection that takes no further request counts towards the server's limit while it carries its last one.
        usable.formUnion(refusing.intersection(inUse))
        (pool.open, pool.inUse) = (usable.count, min(usable.count, inUse.intersection(usable).count + nameless))
        return pool
    }

    /// Whether the transfer is to open one more connection, and its origin has as many as it may have. libcurl would
    /// close an idle connection for it, or let it wait.
    func hasNothingToOpen(_ transfer: ActiveTransfer) -> Bool {
        guard transfer.plan.opensAnother else { return false }
        let (pool, limits) = (usablePool(of: transfer.plan.origin), settings.limits)
        // A spare multi handle has its part of the limit alone.
        let most = sockets.connections.detour(of: transfer.plan.origin) == nil ? limits.host : limits.share(of: 0)
        return pool.open + pool.opening >= most
    }
}
