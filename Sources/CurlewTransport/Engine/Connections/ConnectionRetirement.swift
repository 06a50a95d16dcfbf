internal import CurlewCore

/// Decides when a connection takes no further requests, because of its age or the number of its requests.
struct ConnectionRetirement: Equatable, Sendable {
    enum Verdict: Equatable {
        case takes
        /// The connection takes this request, and no further one.
        case takesLast
        case refuses
    }

    private let maximumAge: UInt64?
    private let maximumRequests: Int?

    /// `nil` if the configuration sets no limit. A limit of zero is taken for the least that lets a new connection
    /// carry a request.
    init?(_ configuration: TransportConfiguration) {
        guard configuration.maximumConnectionAge != nil || configuration.maximumRequestsPerConnection != nil else {
            return nil
        }
        maximumAge = configuration.maximumConnectionAge.map { max(1_000_000, $0.clampedNanoseconds) }
        maximumRequests = configuration.maximumRequestsPerConnection.map { max(1, $0) }
    }

    /// The verdict on a connection of this age, in nanoseconds, that has carried this number of requests.
    func verdict(age: UInt64, requests: Int) -> Verdict {
        if let maximumAge, age >= maximumAge { return .refuses }
        guard let maximumRequests else { return .takes }
        if requests >= maximumRequests { return .refuses }
        return requests + 1 == maximumRequests ? .takesLast : .takes
    }
}

// An HTTP/1 connection carries one request at a time, so libcurl closes it once it is refused or has carried its last
// request. An HTTP/2 connection carries other requests, and libcurl would give it further ones as long as it is in use
// (CURLOPT_MAXLIFETIME_CONN is for idle connections, CURLOPT_FORBID_REUSE for the last transfer). So its origin moves
// to another multi handle, which does not know the connection, and libcurl closes the connection after the last
// transfer on it. Until then the connection does not count towards the limits: a new request must not wait for a stream
// that may never end.
extension Transfers {
    /// Counts the transfer's request as one of the connection's, and retires the connection if it has reached a limit.
    /// Returns false if the connection takes no more requests: the transfer gives it up before a byte is sent, and is
    /// enqueued again.
    ///
    /// Called for every send if the transport has limits. Repetitions are never refused: they continue a handshake, or
    /// an exchange that the connection's server has begun.
    func admitRequest(
        of transfer: ActiveTransfer, to name: ConnectionName, by limits: ConnectionRetirement
    ) -> Bool {
        loop.assertOnLoop()
        guard !transfer.plan.isAlone, let easy = transfer.easy,
            let (socket, connection) = sockets.connections.find(name)
        else { return true }
        let isFirst = transfer.sending.count == 0
        switch verdict(on: connection, for: transfer, by: limits) {
        case .takes: break
        case .takesLast:
            if !transfer.plan.prewarms { retire(connection, at: socket, with: easy) }
        case .refuses:
            if !isFirst {
                if connection.isRetired { easy.closesConnectionAfterwards() }
                break
            }
            guard retire(connection, at: socket, with: easy) else { break }
            if recordRefusal(of: transfer, by: connection, easy) { return false }
        }
        if !transfer.plan.prewarms { sockets.connections.countRequest(on: socket) }
        return true
    }

    private func verdict(
        on connection: OpenConnection, for transfer: ActiveTransfer, by limits: ConnectionRetirement
    ) -> ConnectionRetirement.Verdict {
        guard connection.isRetired else {
            return limits.verdict(age: now.nanoseconds(since: connection.since), requests: connection.requests)
        }
        // A new connection whose origin moved while it was being opened carries the request that it was opened for. A
        // connection in advance is of no use there; the transfer opens another one.
        return connection.requests == 0 && !transfer.plan.prewarms ? .takesLast : .refuses
    }

    /// Counts the refusal. Returns false if the transfer has to be sent over the connection after all, because it would
    /// find the connection again when it is enqueued again, and be refused for ever. That is so if several origins
    /// share the connection: only the origin of the request that opened it has moved. `maximumRefusals` bounds any
    /// other case.
    private func recordRefusal(
        of transfer: ActiveTransfer, by connection: OpenConnection, _ easy: TransferHandle
    ) -> Bool {
        if connection.isMultiplexed, sockets.connections.usesMulti(easy.multi, for: transfer.plan.origin) {
            return false
        }
        // Counted by name, because a new connection often has the socket number of a closed one: under load, one
        // connection after the other may refuse the transfer.
        let last = transfer.sending.refusals
        guard last.name == connection.name else {
            transfer.sending.refusals = (connection.name, 1)
            return true
        }
        transfer.sending.refusals.count += 1
        return last.count < Self.maximumRefusals
    }

    /// The number of times in a row that one connection may refuse the same transfer.
    private static let maximumRefusals = 3

    /// Lets no further request use the connection, and makes libcurl close it when its last request has ended. Returns
    /// false if there is no multi handle that the origin can move to: then the connection stays in use.
    @discardableResult
    private func retire(_ connection: OpenConnection, at socket: Int32, with easy: TransferHandle) -> Bool {
        if connection.isMultiplexed, !connection.isRetired {
            guard let destination = sockets.connections.destination(behind: connection) else { return false }
            var carried: [Int32: [ActiveTransfer]] = [:]
            forEachOutsideQueues { transfer in
                guard let (socket, other) = sockets.connections.find(transfer.connection.name), other.isShared,
                    other.origin == connection.origin
                else { return }
                carried[socket, default: []].append(transfer)
            }
            let idle = sockets.connections.retire(socket, carrying: Set(carried.keys), movingTo: destination)
            for socket in idle { sockets.shutDown(socket) }
            for transfer in carried.values.joined() { transfer.easy?.closesConnectionAfterwards() }
        }
        easy.closesConnectionAfterwards()
        return true
    }

    /// Shuts down a retired connection that its last transfer has left. Usually libcurl has closed it after that
    /// transfer, but not if libcurl was done with the transfer before the connection was retired.
    func endRetiredConnection(of transfer: ActiveTransfer) {
        guard let (socket, connection) = sockets.connections.find(transfer.connection.name), connection.isRetired,
            connection.version != .http3, !isUsed(connection.name, besides: transfer)
        else { return }
        sockets.endConnection(at: socket)
    }
}
