internal import CCurl
internal import CurlewCore

/// The libcurl objects of one engine: the pool of easy handles, the multi handles, and the TLS sessions that they
/// share.
///
/// Used only in the loop's turns, as are `Transfers` and `Sockets`; debug builds assert this at most entries.
final class Handles {
    private let settings: EngineSettings
    private let loop: EngineLoop
    private let sockets: Sockets
    private(set) var multis: [CurlMulti] = []
    /// The multi handles of byte connections, which do not count towards the connection limits.
    private(set) var byteConnectionMultis: [CurlMulti] = []
    /// The multi handle of requests that are alone on their connections. The limits apply to it separately. Each
    /// request closes its connection, so no idle connection is ever reused, and the later rounds of a handshake find
    /// the connection of the first.
    private var loneMulti: CurlMulti?
    /// The multi handles of origins that have left their usual one (`OpenConnections.retire`). The limits apply to
    /// each.
    private var spareMultis: [CurlMulti] = []
    private var idle: [TransferHandle] = []
    private var share: UnsafeMutableRawPointer?
    private var isClosed = false
    /// Whether requests may use different proxies: the environment may name one for each scheme.
    private let mayHaveSeveralProxies: Bool

    /// The size of the pool. Each idle handle keeps about 20 KiB.
    static let maximumIdle = 128

    init(_ settings: EngineSettings, sockets: Sockets, loop: EngineLoop) {
        self.settings = settings
        self.sockets = sockets
        self.loop = loop
        mayHaveSeveralProxies = settings.proxy == .environment
        share = curlew_share_tls_sessions()
    }

    var idleCount: Int { idle.count }

    // MARK: Easy handles

    /// A handle that is set up for the transfer, with libcurl's result: an error if it refused an option. `nil` if no
    /// handle can be made.
    func preparedHandle(
        for transfer: ActiveTransfer, of transfers: Transfers
    ) -> (easy: TransferHandle, code: CURLcode)? {
        loop.assertOnLoop()
        guard let easy = idle.popLast() ?? TransferHandle(transfers) else { return nil }
        let code = easy.apply(transfer, share: share)
        // A handle whose last transfer ended before it had a connection keeps its receive buffer, and libcurl refuses
        // to resize an existing buffer (CURLOPT_BUFFERSIZE). A new handle has none.
        guard code == CURLE_BAD_FUNCTION_ARGUMENT, let fresh = TransferHandle(transfers) else { return (easy, code) }
        return (fresh, fresh.apply(transfer, share: share))
    }

    /// Closes the byte connection of a handle that has no transfer.
    func closeByteConnection(of easy: TransferHandle) {
        loop.assertOnLoop()
        multi(at: easy.multi)?.remove(easy)
        // Frees multi handles after a peak: each has descriptors, and every turn visits it. One is kept for its
        // resolved names.
        while byteConnectionMultis.count > 1, byteConnectionMultis.last?.count == 0 {
            byteConnectionMultis.removeLast()
        }
    }

    /// Returns a handle to the pool if it may serve another transfer.
    func recycle(_ easy: TransferHandle, after transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard !isClosed, idle.count < Self.maximumIdle, easy.isReusable else { return }
        // A handle remembers things that must not affect its next transfer: options that only this plan has; that it
        // closes its connection, which was retired; the number of libcurl's silent repetitions over all its transfers,
        // of which libcurl permits five; the verdict on a certificate chain, until there is another; and the scheme
        // that one proxy has asked for, which it would use unasked with another.
        if transfer.plan.needsOwnHandle
            || easy.closesConnection
            || transfer.sending.count > 1
            || transfer.result.error?.isTLS == true
            || (mayHaveSeveralProxies && curlew_get_long(easy.handle, CURLINFO_PROXYAUTH_AVAIL) != 0)
        {
            easy.reset()
        }
        easy.setTrace([])
        idle.append(easy)
    }

    // MARK: Multi handles

    /// The number of byte connections that share a multi handle. Each time something is read or sent, libcurl searches
    /// all connections of the multi handle for that of the easy handle.
    static let byteConnectionsPerMulti = 32

    /// The multi handle with an index; `nil` for `MultiIndex.none`.
    func multi(at index: Int) -> CurlMulti? {
        if index < 0 { return nil }
        if index < multis.count { return multis[index] }
        if index == MultiIndex.lone { return loneMulti }
        if index >= MultiIndex.firstOfByteConnections {
            let index = index - MultiIndex.firstOfByteConnections
            return byteConnectionMultis.indices.contains(index) ? byteConnectionMultis[index] : nil
        }
        let index = index - MultiIndex.firstSpare
        return spareMultis.indices.contains(index) ? spareMultis[index] : nil
    }

    /// The multi handle in which the transfer is to run, made if necessary; `nil` if it cannot be made.
    func multi(for transfer: ActiveTransfer) -> CurlMulti? {
        loop.assertOnLoop()
        if transfer.plan.makesByteConnection { return multiForByteConnection() }
        if transfer.plan.isAlone { return multiForLoneRequest() }
        if sockets.connections.hasMovedOrigins, let spare = sockets.connections.spareMulti(of: transfer.plan.origin) {
            return spareMulti(at: spare)
        }
        return usualMulti(for: transfer)
    }

    private func multiForByteConnection() -> CurlMulti? {
        if let known = byteConnectionMultis.first(where: { $0.count < Self.byteConnectionsPerMulti }) { return known }
        let index = MultiIndex.firstOfByteConnections + byteConnectionMultis.count
        guard let multi = CurlMulti(index: index, delegate: sockets, limits: nil) else { return nil }
        byteConnectionMultis.append(multi)
        return multi
    }

    private func multiForLoneRequest() -> CurlMulti? {
        if loneMulti == nil {
            loneMulti = CurlMulti(
                index: MultiIndex.lone, delegate: sockets, limits: settings.limits, multiplexes: false)
        }
        return loneMulti
    }

    private func usualMulti(for transfer: ActiveTransfer) -> CurlMulti? {
        let limits = settings.limits
        var index = 0
        if limits.multis > 1 {
            if limits.splitsHosts {
                // Fill one multi handle before the next: few requests then use few of them and find their connections
                // again.
                index =
                    multis.firstIndex { $0.count < limits.share(of: $0.index) }
                    ?? (multis.count < limits.multis ? multis.count : leastLoaded)
            } else {
                var hash: UInt64 = 5381
                for byte in transfer.plan.host.utf8 { hash = hash &* 33 &+ UInt64(ASCII.lowercased(byte)) }
                index = Int(hash % UInt64(limits.multis))
            }
        }
        while multis.count <= index {
            guard let multi = CurlMulti(index: multis.count, delegate: sockets, limits: limits) else { return nil }
            multis.append(multi)
        }
        return multis[index]
    }

    private func spareMulti(at index: Int) -> CurlMulti? {
        while MultiIndex.firstSpare + spareMultis.count <= index {
            let next = MultiIndex.firstSpare + spareMultis.count
            guard let multi = CurlMulti(index: next, delegate: sockets, limits: settings.limits) else { return nil }
            spareMultis.append(multi)
        }
        return multi(at: index)
    }

    private var leastLoaded: Int {
        multis.indices.min { multis[$0].count < multis[$1].count } ?? 0
    }

    /// When libcurl wants to be called without an event.
    var deadline: LoopInstant {
        var earliest = LoopInstant.never
        forEachMulti { earliest = min(earliest, $0.deadline) }
        return earliest
    }

    func forEachMulti(_ body: (CurlMulti) -> Void) {
        for multi in multis { body(multi) }
        for multi in byteConnectionMultis { body(multi) }
        if let loneMulti { body(loneMulti) }
        for multi in spareMultis { body(multi) }
    }

    // MARK: The end

    /// Frees every handle, and with it every connection. No transfer may be left.
    func closeAll() {
        loop.assertOnLoop()
        isClosed = true
        idle.removeAll()
        multis.removeAll()
        byteConnectionMultis.removeAll()
        loneMulti = nil
        spareMultis.removeAll()
    }

    /// Frees the TLS sessions that handles share. Call it after `closeAll`.
    func freeShare() {
        loop.assertOnLoop()
        if let share { curl_share_cleanup(share) }
        share = nil
    }
}
