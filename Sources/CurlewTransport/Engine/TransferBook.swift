internal import CCurl
internal import CurlewCore
internal import CurlewLocks
internal import Glibc

/// Everything the engine owns: handles, sockets, clocks and the transfers in flight.
///
/// The actor `TransferEngine` and the loop thread are one isolation domain; this is its state.
// SAFETY: touched by the loop thread only, from its first turn to its last: by LoopExecutor.run, by
// libcurl's callbacks within it, and by jobs of the actor whose executor that thread is. Before
// the thread starts, only the init runs. `published` is a lock.
final class TransferBook: @unchecked Sendable {
    let settings: EngineSettings
    let published: Lock<TransportStatistics>

    // SAFETY: unchecked, here and below, because the checks are a tenth of what the engine adds to a request. No
    // access to these lasts while libcurl or foreign code runs: values are read, libcurl is called, results are stored.
    /// Time of the present turn: one clock reading serves all its callbacks.
    @exclusivity(unchecked) var now = LoopInstant.now()
    @exclusivity(unchecked) var texts = TextCache()
    @exclusivity(unchecked) var addresses = AddressTexts()
    var isClosed = false

    // SAFETY: as `now`.
    @exclusivity(unchecked) private var poller: Poller
    @exclusivity(unchecked) private var multis: [CurlMulti] = []
    @exclusivity(unchecked) private var idleHandles: [CurlEasy] = []
    private var share: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var live: [ActiveTransfer] = []
    @exclusivity(unchecked) private var deadlines = DeadlineHeap<ActiveTransfer>()
    @exclusivity(unchecked) private var ended: [ActiveTransfer] = []
    /// Those whose own new connection has begun its TLS handshake, by the name that the handshake knows.
    @exclusivity(unchecked) private var securing: [TaskIdentifier: ActiveTransfer] = [:]
    @exclusivity(unchecked) private var lines = ConnectionLines()
    @exclusivity(unchecked) private var connecting = ConnectingTransfers()
    @exclusivity(unchecked) private var handlesInUse = 0
    @exclusivity(unchecked) private var statistics = TransportStatistics()

    /// Each idle handle keeps about 20 KiB.
    static let maximumIdleHandles = 128

    init(_ settings: EngineSettings, queue: any ReadinessQueue, published: Lock<TransportStatistics>) {
        self.settings = settings
        poller = Poller(queue: queue)
        self.published = published
        share = curlew_share_tls_sessions()
    }

    // MARK: A transfer's life

    func start(_ transfer: ActiveTransfer) {
        transfer.liveIndex = live.count
        live.append(transfer)
        transfer.clocks.transferStarted(at: now)
        if isClosed { return end(transfer, closedError(transfer)) }
        if let failure = transfer.failure { return end(transfer, failure) }
        transfer.sink.willStart(transfer)
        if let failure = transfer.failure { return end(transfer, failure) }
        if transfer.pauses.isSuspended {
            transfer.stage = .held
            clockChanged(transfer)
            return
        }
        launch(transfer)
    }

    private func launch(_ transfer: ActiveTransfer) {
        transfer.clocks.queued(at: now)
        if lines.mayEnter(transfer) { return handOver(transfer) }
        transfer.stage = .inLine
        clockChanged(transfer)
    }

    /// Whose turn has come goes to libcurl.
    private func callIn() {
        while let transfer = lines.next() {
            guard transfer.pauses.isSuspended else {
                handOver(transfer)
                continue
            }
            lines.left(transfer)
            transfer.stage = .held
        }
    }

    /// The transfer has a connection, or is on its way to one.
    func hasLeftLine(_ transfer: ActiveTransfer) { lines.left(transfer) }

    /// The transfer is about to be sent.
    func hasConnected(_ transfer: ActiveTransfer) { connecting.remove(transfer) }

    private func handOver(_ transfer: ActiveTransfer) {
        guard var easy = idleHandles.popLast() ?? CurlEasy(book: self), let multi = multi(for: transfer) else {
            let shortage = SystemError.shortage(transfer.phase).map(transfer.completed)
            return end(transfer, shortage ?? transfer.makeError(.`internal`, "libcurl gives no handle"))
        }
        var code = setUp(easy, for: transfer)
        // A handle whose last transfer ended before it had a connection keeps its receive buffer, and libcurl does not
        // change the size of one that is there (CURLOPT_BUFFERSIZE). A new handle has none.
        if code == CURLE_BAD_FUNCTION_ARGUMENT, let fresh = CurlEasy(book: self) {
            easy = fresh
            code = setUp(easy, for: transfer)
        }
        guard code == CURLE_OK else {
            // The options of a half set-up handle are unknown.
            return end(transfer, transfer.rejected(code))
        }
        transfer.openBody()
        easy.transfer = transfer
        transfer.runs(on: easy)
        handlesInUse += 1
        clockChanged(transfer)
        let added = multi.add(easy)
        guard added == CURLM_OK else {
            return end(transfer, transfer.makeError(.`internal`, String(cString: curl_multi_strerror(added))))
        }
    }

    private func setUp(_ easy: CurlEasy, for transfer: ActiveTransfer) -> CURLcode {
        let code = easy.apply(transfer, base: settings.base, material: settings.material, share: share)
        guard code == CURLE_OK, let bytes = transfer.fields else { return code }
        return easy.setFields(bytes)
    }

    /// Ends a transfer: not from within a callback of libcurl.
    func end(_ transfer: ActiveTransfer, _ error: CurlewError) {
        if transfer.hasEnded { return }
        transfer.finalError = error
        putAway(transfer)
    }

    /// The result is there: what the transfer used is given back.
    private func putAway(_ transfer: ActiveTransfer) {
        transfer.tellRoute(self)
        if let easy = transfer.easy {
            release(easy)
            recycle(easy, after: transfer)
        }
        lines.left(transfer)
        transfer.closeBody()
        transfer.ends()
        transfer.letGoOfSink()
        deadlines.remove(transfer)
        let last = live.removeLast()
        if last !== transfer {
            live[transfer.liveIndex] = last
            last.liveIndex = transfer.liveIndex
        }
        transfer.liveIndex = -1
        statistics.transfersEnded += 1
        ended.append(transfer)
    }

    private func release(_ easy: CurlEasy) {
        if let transfer = easy.transfer { receivingResumes(transfer) }
        if easy.multi >= 0 { multis[easy.multi].remove(easy) }
        if let transfer = easy.transfer, transfer.isSecuring, handshaking(transfer.request.identifier) === transfer {
            securing[transfer.request.identifier] = nil
        }
        if let transfer = easy.transfer {
            lines.left(transfer)
            connecting.remove(transfer)
        }
        easy.transfer = nil
        easy.socket = -1
        handlesInUse -= 1
    }

    private func recycle(_ easy: CurlEasy, after transfer: ActiveTransfer) {
        guard !isClosed, idleHandles.count < Self.maximumIdleHandles, easy.isReusable else { return }
        // A handle counts libcurl's silent repetitions, over all its transfers, and gives up at the sixth.
        // And it keeps a verdict on a chain until there is another.
        if transfer.plan.needsOwnHandle || transfer.sends > 1 || transfer.finalError?.isTLS == true { easy.reset() }
        easy.traces = false
        idleHandles.append(easy)
    }

    /// Sends the same transfer once more, over another handle: this one remembers what was refused.
    private func repeatLaunch(_ transfer: ActiveTransfer, _ easy: CurlEasy) {
        release(easy)
        transfer.startsOver()
        launch(transfer)
    }

    /// Suspended on its way to a connection, it was not sent: it waits for `resume` without a handle.
    private func holdBack(_ transfer: ActiveTransfer, _ easy: CurlEasy) {
        release(easy)
        recycle(easy, after: transfer)
        transfer.startsOver()
        if transfer.pauses.isSuspended { transfer.stage = .held } else { launch(transfer) }
    }

    func take(_ command: TransferCommand, for transfer: ActiveTransfer) {
        if transfer.hasEnded { return }
        switch command {
        case .cancel(let error):
            if case .created = transfer.stage { return transfer.cancelsBeforeStart(error) }
            fail(transfer, transfer.completed(transfer.cancellation(error)))
        case .suspend:
            transfer.pauses.isSuspended = true
            applyPauses(transfer)
        case .resume:
            transfer.pauses.isSuspended = false
            if case .held = transfer.stage { launch(transfer) } else { applyPauses(transfer) }
        case .resumeReceiving:
            transfer.pauses.sinkPaused = false
            applyPauses(transfer)
        case .wakeBody:
            transfer.pauses.sourcePending = false
            applyPauses(transfer)
        }
    }

    private func fail(_ transfer: ActiveTransfer, _ error: CurlewError) {
        var error = error
        if let easy = transfer.easy, error.metrics == nil {
            transfer.measure(easy)
            error.metrics = transfer.metrics
        }
        end(transfer, error)
    }

    private func applyPauses(_ transfer: ActiveTransfer) {
        guard let easy = transfer.easy else { return }
        if transfer.pauses.isHeld {
            transfer.clocks.held(at: now)
        } else {
            transfer.clocks.released(at: now)
        }
        clockChanged(transfer)
        // Before the request is being sent there is nothing to pause; the callbacks look at the flags.
        guard transfer.hasSent else { return }
        let wanted = transfer.pauses.wanted(
            isUploading: transfer.upload.map { !$0.hasEnded } ?? false, waitsForReader: sendingWaitsForReader(transfer))
        guard wanted != transfer.pauses.applied else { return }
        let before = transfer.pauses.applied
        transfer.pauses.applied = wanted
        if wanted & 1 != 0 { receivingPaused(transfer) } else { receivingResumes(transfer) }  // CURLPAUSE_RECV
        // May deliver bytes, and so pause again, before it returns. Where the sink refuses them libcurl tells
        // that here, and does not go on by itself: on an idle connection nothing would end the transfer.
        let result = curl_easy_pause(easy.handle, wanted)
        if result == CURLE_BAD_FUNCTION_ARGUMENT {
            // The transfer has no connection: it is over, and its message is on the way, or it is sent once more.
            transfer.pauses.applied = before
        } else if result != CURLE_OK {
            finish(transfer, easy, result)
        }
    }

    private func multi(for transfer: ActiveTransfer) -> CurlMulti? {
        let limits = settings.limits
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
            guard let multi = CurlMulti(index: multis.count, book: self, limits: limits) else { return nil }
            multis.append(multi)
        }
        return multis[index]
    }

    private var leastLoaded: Int {
        multis.indices.min { multis[$0].count < multis[$1].count } ?? 0
    }

    private func closedError(_ transfer: ActiveTransfer) -> CurlewError {
        transfer.makeError(.sessionClosed, "the transport is shut down", phase: .lifecycle)
    }

    // MARK: Clocks

    /// A clock of the transfer started or stopped. Later deadlines are found out when the earlier one comes.
    func clockChanged(_ transfer: ActiveTransfer) {
        let next = transfer.clocks.deadline
        if transfer.deadlineIndex < 0 ? next != .never : next < deadlines.deadline(of: transfer) {
            deadlines.set(transfer, to: next)
        }
    }

    private func runConnecting() {
        guard connecting.due <= now else { return }
        var done: Set<Int> = []
        for transfer in connecting.late(at: now) {
            guard let index = transfer.easy?.multi, index >= 0, done.insert(index).inserted else { continue }
            multis[index].runAll()
        }
    }

    private func runDeadlines() {
        while let transfer = deadlines.due(at: now) {
            let next = transfer.clocks.next
            if next.at <= now {
                if next.code == .idleTimedOut, transfer.hasWholeBody, let easy = transfer.easy {
                    succeed(transfer, easy)
                } else {
                    fail(transfer, transfer.timeout(next.code))
                }
            } else {
                deadlines.set(transfer, to: next.at)
            }
        }
    }

    // MARK: Sockets

    func socketWish(_ fd: Int32, _ what: Int32, _ multi: Int, of easy: UnsafeMutableRawPointer?) {
        if settings.libcurlReadsWhilePaused, what != CURL_POLL_REMOVE, let easy = easy.flatMap(CurlEasy.of) {
            reads(easy, from: fd)
        }
        switch what {
        case CURL_POLL_IN: poller.watch(fd, for: .read, multi: multi)
        case CURL_POLL_OUT: poller.watch(fd, for: .write, multi: multi)
        case CURL_POLL_INOUT: poller.watch(fd, for: [.read, .write], multi: multi)
        default: poller.unwatch(fd)
        }
    }

    func openSocket(for transfer: ActiveTransfer, _ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        // A proxy that may be used was named as trusted, whatever its own address. Which requests go past it was decided
        // by the plan, and libcurl was told so: it decides nothing itself.
        if settings.refusesPrivateAddresses, !transfer.isProxied {
            let refused = withUnsafePointer(to: &address.pointee.addr) { AddressGuard.refusal(of: $0) }
            if let refused {
                transfer.refusedAddress = refused
                return -1  // CURL_SOCKET_BAD
            }
        }
        let fd = socket(
            address.pointee.family,
            address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol
        )
        guard fd >= 0 else {
            transfer.socketError = errno
            return -1
        }
        SocketMarking.mark(fd, family: address.pointee.family, as: transfer.request.options.trafficClass)
        poller.socketOpened(fd)
        connecting.opened(for: transfer, at: now)
        return fd
    }

    func closeSocket(_ fd: Int32) -> Int32 {
        poller.socketClosed(fd)
        return close(fd)
    }

    func mute(_ fd: Int32, _ isMuted: Bool) { poller.mute(fd, isMuted) }

    func handshakeBegan(for transfer: ActiveTransfer) {
        transfer.isSecuring = true
        securing[transfer.request.identifier] = transfer
    }

    /// The transfer that a handshake belongs to, while it is on that handle.
    func handshaking(_ identifier: TaskIdentifier) -> ActiveTransfer? { securing[identifier] }
}

// MARK: The loop's turns

extension TransferBook: LoopClient {
    func waitForSockets(mayWait: Bool) {
        poller.wait(nanoseconds: mayWait ? waitingTime : 0)
        now = .now()
        statistics.loopTurns += 1
    }

    func serveSockets() {
        for index in 0..<poller.eventCount {
            // A job of this turn may have closed everything.
            guard let ready = poller.take(index), ready.multi < multis.count else { continue }
            var events: Int32 = 0
            if !ready.readiness.isDisjoint(with: [.read, .hangUp]) { events |= CURL_CSELECT_IN }
            if ready.readiness.contains(.write) { events |= CURL_CSELECT_OUT }
            if !ready.readiness.isDisjoint(with: [.error, .closed]) { events |= CURL_CSELECT_ERR }
            multis[ready.multi].socketReady(ready.fd, events)
        }
    }

    func take(_ item: LoopItem) {
        switch item {
        case .start(let transfer): start(transfer)
        case .command(let transfer, let command): take(command, for: transfer)
        case .job, .stop: break
        }
    }

    func endTurn() {
        runConnecting()
        for multi in multis {
            if multi.deadline <= now { multi.timerExpired() }
            collect(multi)
        }
        runDeadlines()
        callIn()
        publish()
        // Only now: a caller that goes on at once would compete with the work of this turn.
        guard !ended.isEmpty else { return }
        for index in ended.indices { ended[index].handBack() }
        ended.removeAll(keepingCapacity: true)
    }

    func end() {
        closeAll()
        endTurn()
        if let share { curl_share_cleanup(share) }
        share = nil
        poller.close()
    }

    /// Fails what runs and closes every connection.
    func closeAll() {
        isClosed = true
        while let transfer = live.last { fail(transfer, closedError(transfer)) }
        idleHandles.removeAll()
        multis.removeAll()
    }

    private var waitingTime: Int64 {
        var earliest = min(deadlines.earliest, connecting.due)
        for multi in multis { earliest = min(earliest, multi.deadline) }
        if earliest == .never { return -1 }
        return Int64(clamping: earliest.nanoseconds(since: .now()))
    }

    private func collect(_ multi: CurlMulti) {
        var result = CURLE_OK
        while let handle = curlew_multi_next_done(multi.handle, &result) {
            guard let easy = CurlEasy.of(handle), let transfer = easy.transfer else { continue }
            finish(transfer, easy, result)
        }
    }

    private func finish(_ transfer: ActiveTransfer, _ easy: CurlEasy, _ result: CURLcode) {
        if transfer.isHeldBack, !transfer.hasFailed { return holdBack(transfer, easy) }
        if !transfer.hasFailed, transfer.isRefusedExpectation, transfer.leaveOutExpectation() {
            return repeatLaunch(transfer, easy)
        }
        if !transfer.hasFailed, transfer.isMisdirected, transfer.leaveRoute(.misdirected, self) {
            return repeatLaunch(transfer, easy)
        }
        if transfer.isLost(after: result), transfer.leaveRoute(.failed, self) { return repeatLaunch(transfer, easy) }
        let result = transfer.hasWholeResponse(despite: result) ? CURLE_OK : result
        if transfer.startAgain(after: result) { return repeatLaunch(transfer, easy) }
        if result == CURLE_OK, !transfer.hasFailed { _ = transfer.deliverDeferredHead(self) }
        if result == CURLE_OK, !transfer.hasFailed { transfer.checkEndOfBody() }
        if result == CURLE_OK, !transfer.hasFailed, transfer.hasHead { return succeed(transfer, easy) }
        if result == CURLE_OK, !transfer.hasFailed {
            return fail(transfer, transfer.makeError(.protocolViolation, "the exchange ended without a response"))
        }
        fail(transfer, transfer.failure(for: result, easy))
    }

    private func succeed(_ transfer: ActiveTransfer, _ easy: CurlEasy) {
        if transfer.hasEnded { return }
        transfer.measure(easy)
        putAway(transfer)
    }

    private func publish() {
        statistics.liveTransfers = live.count
        statistics.easyHandlesInUse = handlesInUse
        statistics.easyHandlesIdle = idleHandles.count
        statistics.openSockets = poller.ownedCount
        statistics.connectionsMade = poller.openedCount
        let snapshot = statistics
        published.withLock { $0 = snapshot }
    }
}
