internal import CCurl
internal import CurlewCore

/// What one engine has of libcurl: the pool of easy handles, the multi handles, and the TLS sessions that they share.
///
/// Belongs to the loop's turns, as `Transfers` and `Sockets` do: every entry asserts that in debug builds.
final class Handles {
    private let settings: EngineSettings
    private let loop: LoopIdentity
    private let sockets: Sockets
    private(set) var multis: [CurlMulti] = []
    /// Those of byte connections, which count for no limit.
    private(set) var connectionMultis: [CurlMulti] = []
    /// That of requests that are alone on their connections, which count apart, for the same limits. Each closes its own, so
    /// none is ever there to be used again, and the later rounds of a handshake find the connection of the first.
    private var loneMulti: CurlMulti?
    private var idle: [TransferHandle] = []
    private var share: UnsafeMutableRawPointer?
    private(set) var inUse = 0
    private var isClosed = false
    /// The environment may name a proxy for each scheme.
    private let mayHaveSeveralProxies: Bool

    /// Each idle handle keeps about 20 KiB.
    static let maximumIdle = 128

    init(_ settings: EngineSettings, sockets: Sockets, loop: LoopIdentity) {
        self.settings = settings
        self.sockets = sockets
        self.loop = loop
        mayHaveSeveralProxies = settings.proxy == .environment
        share = curlew_share_tls_sessions()
    }

    var idleCount: Int { idle.count }

    // MARK: Easy handles

    /// A handle that is set up for the transfer, or libcurl's refusal of an option; nil where there is no handle.
    func handle(for transfer: ActiveTransfer, of transfers: Transfers) -> (easy: TransferHandle, code: CURLcode)? {
        loop.assertOnLoop()
        guard let easy = idle.popLast() ?? TransferHandle(transfers) else { return nil }
        let code = setUp(easy, for: transfer)
        // A handle whose last transfer ended before it had a connection keeps its receive buffer, and libcurl does not
        // change the size of one that is there (CURLOPT_BUFFERSIZE). A new handle has none.
        guard code == CURLE_BAD_FUNCTION_ARGUMENT, let fresh = TransferHandle(transfers) else { return (easy, code) }
        return (fresh, setUp(fresh, for: transfer))
    }

    private func setUp(_ easy: TransferHandle, for transfer: ActiveTransfer) -> CURLcode {
        let code = easy.apply(transfer, base: settings.base, material: settings.material, share: share)
        guard code == CURLE_OK, let bytes = transfer.fields else { return code }
        return easy.setFields(bytes)
    }

    /// Gives the transfer's handle to libcurl.
    func add(_ easy: TransferHandle, to multi: CurlMulti) -> CURLMcode {
        loop.assertOnLoop()
        inUse += 1
        return multi.add(easy)
    }

    /// Takes a handle back from libcurl.
    func remove(_ easy: TransferHandle) {
        loop.assertOnLoop()
        if easy.multi >= 0 { multi(at: easy.multi)?.remove(easy) }
        leave(easy)
    }

    private func leave(_ easy: TransferHandle) {
        easy.transfer = nil
        easy.socket = -1
        inUse -= 1
    }

    /// The handle stays with libcurl, for a byte connection: libcurl finds that through its multi handle alone.
    func lend(_ easy: TransferHandle) {
        loop.assertOnLoop()
        leave(easy)
    }

    /// Ends the byte connection of a handle that was lent.
    func close(_ easy: TransferHandle) {
        loop.assertOnLoop()
        multi(at: easy.multi)?.remove(easy)
        // After a peak: each has descriptors, and every turn visits it. One keeps its resolved names.
        while connectionMultis.count > 1, connectionMultis.last?.count == 0 { connectionMultis.removeLast() }
    }

    /// Keeps a handle for the next transfer, where it may serve one.
    func recycle(_ easy: TransferHandle, after transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard !isClosed, idle.count < Self.maximumIdle, easy.isReusable else { return }
        // A handle counts libcurl's silent repetitions, over all its transfers, and gives up at the sixth.
        // And it keeps a verdict on a chain until there is another.
        // And the scheme that one proxy has asked for, which it would use at another unasked.
        if transfer.plan.needsOwnHandle || transfer.sends > 1 || transfer.finalError?.isTLS == true
            || (mayHaveSeveralProxies && curlew_get_long(easy.handle, CURLINFO_PROXYAUTH_AVAIL) != 0)
        {
            easy.reset()
        }
        easy.traces = false
        easy.showsNextLine = false
        idle.append(easy)
    }

    // MARK: Multi handles

    /// How many byte connections share a multi handle. libcurl looks for a handle's connection among all of its multi
    /// handle, each time that something is read or sent.
    static let connectionsPerMulti = 32
    private static let firstConnectionMulti = 1000
    private static let loneIndex = 999

    func multi(at index: Int) -> CurlMulti? {
        if index < multis.count { return multis[index] }
        if index == Self.loneIndex { return loneMulti }
        let index = index - Self.firstConnectionMulti
        return connectionMultis.indices.contains(index) ? connectionMultis[index] : nil
    }

    private func multiForConnection() -> CurlMulti? {
        if let known = connectionMultis.first(where: { $0.count < Self.connectionsPerMulti }) { return known }
        let index = Self.firstConnectionMulti + connectionMultis.count
        guard let multi = CurlMulti(index: index, wishes: sockets, limits: nil) else { return nil }
        connectionMultis.append(multi)
        return multi
    }

    func multi(for transfer: ActiveTransfer) -> CurlMulti? {
        loop.assertOnLoop()
        if transfer.plan.connectsOnly { return multiForConnection() }
        let limits = settings.limits
        if transfer.plan.isAlone {
            if loneMulti == nil {
                loneMulti = CurlMulti(index: Self.loneIndex, wishes: sockets, limits: limits, multiplexes: false)
            }
            return loneMulti
        }
        var index = 0
        if limits.multis > 1 {
            if limits.splitsHosts {
                // Fill one before the next: few requests keep to few handles and find their connections again.
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
            guard let multi = CurlMulti(index: multis.count, wishes: sockets, limits: limits) else { return nil }
            multis.append(multi)
        }
        return multis[index]
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
        for multi in connectionMultis { body(multi) }
        if let loneMulti { body(loneMulti) }
    }

    // MARK: The end

    /// Frees every handle, and with them every connection. No transfer is left.
    func closeAll() {
        loop.assertOnLoop()
        isClosed = true
        idle.removeAll()
        multis.removeAll()
        connectionMultis.removeAll()
        loneMulti = nil
    }

    /// Frees what handles share: after `closeAll`.
    func freeShare() {
        loop.assertOnLoop()
        if let share { curl_share_cleanup(share) }
        share = nil
    }
}
