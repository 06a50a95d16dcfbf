internal import CCurl
internal import CurlewCore

/// The transfers of one engine: which are in flight, how they start, how commands act on them, and how they end.
///
/// Used only in the loop's turns, as are `Sockets` and `Handles`; debug builds assert this at most entries. No access
/// to a stored property spans a call into libcurl or user code: methods read values, make the call, and then store the
/// results.
final class Transfers {
    let settings: EngineSettings
    let sockets: Sockets
    let handles: Handles
    let handshakes: Handshakes
    let connections: ByteConnections
    /// `nil` if libcurl resolves names.
    private let resolver: NameResolver?
    let loop: EngineLoop
    var addresses = AddressTexts()
    var pings = HTTP2Pings()
    /// The transfers whose connections are watched before they are given to others, by socket. See `Prewarming`.
    var settling: [Int32: SettlingTransfer] = [:]

    private var isClosed = false
    private(set) var endedCount = 0
    /// The number of transfers that have a handle.
    var handlesInUse = 0
    /// The number of callers that the last turn resumed. They may be about to start their next transfers.
    private(set) var resumedCount = 0

    private var live: [ActiveTransfer] = []
    private var deadlines = DeadlineHeap<ActiveTransfer>()
    // SAFETY: unchecked for speed (Docs/Internals/Engine.md); no access spans a call into libcurl or user code.
    @exclusivity(unchecked) var lines = ConnectionLines()
    /// The transfers that have ended and whose callers are resumed at the end of the turn.
    private var ended: [ActiveTransfer] = []
    /// The observers to notify at the end of the turn.
    var turnObservers: [any TurnObserver] = []

    init(_ settings: EngineSettings, sockets: Sockets, handles: Handles, loop: EngineLoop) {
        self.settings = settings
        self.sockets = sockets
        self.handles = handles
        self.loop = loop
        resolver = NameResolver(settings)
        handshakes = Handshakes(settings, loop: loop)
        connections = ByteConnections(sockets: sockets, handles: handles, loop: loop)
    }

    /// The time at which the current turn began, or its last transfer started.
    var now: LoopInstant { sockets.now }
    var liveCount: Int { live.count }

    // MARK: Start

    func start(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        transfer.entries.live = live.count
        live.append(transfer)
        // A turn that starts hundreds of transfers takes a while, and each transfer's timeouts begin when it starts.
        sockets.now = .now()
        transfer.clocks.started = now
        if isClosed { return end(transfer, transfer.completed(.transportShutDown)) }
        if let failure = transfer.failure { return end(transfer, failure) }
        transfer.sink.willStart(transfer)
        if let failure = transfer.failure { return end(transfer, failure) }
        if transfer.pauses.isSuspended { return hold(transfer) }
        enqueue(transfer)
    }

    /// Gives the transfer to libcurl, unless it has to wait: for its host's addresses, or in its origin's line. Without
    /// `answer` the user's resolver is asked, if there is one.
    func enqueue(_ transfer: ActiveTransfer, answer: [String]? = nil) {
        if let question = transfer.plan.question, let resolver {
            transfer.addresses = answer ?? resolver.find(question, for: transfer)
            guard transfer.addresses != nil else {
                // It waits without a handle, while its connect timeout runs.
                transfer.stage = .resolving
                transfer.clocks.resolvingStarted(at: now)
                clockChanged(transfer)
                return
            }
        }
        transfer.clocks.enqueued(at: now)
        if lines.add(transfer) { return addToMulti(transfer) }
        transfer.stage = .inLine
        clockChanged(transfer)
    }

    /// Gives waiting transfers to libcurl, each origin's in order of arrival, while there is room.
    func addWaiting() {
        loop.assertOnLoop()
        while let transfer = lines.next() {
            guard transfer.pauses.isSuspended else {
                addToMulti(transfer)
                continue
            }
            hold(transfer)
        }
    }

    /// Lets a suspended transfer without a handle wait for `resume`.
    private func hold(_ transfer: ActiveTransfer) {
        lines.remove(transfer)
        transfer.clocks.startOver(isHeld: true)
        transfer.stage = .held
        clockChanged(transfer)
    }

    private func addToMulti(_ transfer: ActiveTransfer) {
        if transfer.plan.prewarms, hasNothingToOpen(transfer) { return release(transfer) }
        // Another transfer may have got a newer answer while this one was in line.
        if let question = transfer.plan.question, let newest = resolver?.newest(question.name) {
            transfer.addresses = newest
        }
        guard let (easy, code) = handles.preparedHandle(for: transfer, of: self),
            let multi = handles.multi(for: transfer)
        else {
            let shortage = SystemError.shortage(transfer.phase).map(transfer.completed)
            return end(transfer, shortage ?? transfer.makeError(.`internal`, "libcurl gives no handle"))
        }
        guard code == CURLE_OK else {
            // The handle is not recycled: it is unknown which of its options are set.
            return end(transfer, transfer.rejected(code))
        }
        if transfer.sending.upload != nil {
            transfer.openBody()
            // Opening the body runs user code, which may have cancelled or suspended the transfer.
            if transfer.hasFailed || transfer.pauses.isSuspended {
                handles.recycle(easy, after: transfer)
                guard let failure = transfer.failure else { return hold(transfer) }
                return end(transfer, failure)
            }
        }
        easy.transfer = transfer
        // A libcurl that does not ask before it sends shows a send only in its trace. Every libcurl shows requests for
        // tunnels only there.
        let mayTunnel = transfer.plan.isTLS || transfer.plan.connectsOnly
        if !settings.quirks.asksBeforeSending || mayTunnel && transfer.meetsChallengesOfProxy(settings) {
            easy.setTrace(.work)
        }
        transfer.attach(to: easy)
        handlesInUse += 1
        clockChanged(transfer)
        let added = multi.add(easy)
        guard added == CURLM_OK else {
            return end(transfer, transfer.makeError(.`internal`, String(cString: curl_multi_strerror(added))))
        }
    }

    // MARK: Commands

    func carryOut(_ command: TransferCommand, for transfer: ActiveTransfer) {
        loop.assertOnLoop()
        if transfer.hasEnded { return }
        switch command {
        case .cancel(let error):
            if case .created = transfer.stage { return transfer.cancelBeforeStart(error) }
            fail(transfer, transfer.completed(transfer.cancellation(error)))
        case .resolved(let result): resolved(transfer, result)
        case .suspend:
            transfer.pauses.isSuspended = true
            applyPauses(transfer)
        case .resume:
            transfer.pauses.isSuspended = false
            guard case .held = transfer.stage else { return applyPauses(transfer) }
            // Its timeouts have to run again; otherwise they would never expire.
            if !transfer.pauses.isHeld { transfer.clocks.released(at: now) }
            enqueue(transfer)
        case .resumeReceiving:
            transfer.pauses.sinkPaused = false
            applyPauses(transfer)
        case .wakeBody:
            transfer.pauses.sourcePending = false
            applyPauses(transfer)
        }
    }

    /// Ends a transfer with an error, after measuring it. Must not be called from within a callback of libcurl.
    func fail(_ transfer: ActiveTransfer, _ error: CurlewError) {
        var error = error
        if let easy = transfer.easy, error.metrics == nil {
            transfer.measure(easy)
            error.metrics = transfer.result.metrics
        }
        end(transfer, error)
    }

    // MARK: Transfers on a connection

    /// Called when a server has announced the end of a transfer's connection for the first time. Records the
    /// announcement for the other transfers on that connection.
    func connectionGoesAway(of transfer: ActiveTransfer) {
        loop.assertOnLoop()
        // Only `ActiveTransfer.responseEnded` needs the record.
        guard settings.quirks.hidesBrokenConnections, let name = transfer.connection.name else { return }
        for other in live where other.connection.name == name {
            other.sending.evidence.connectionGoesAway = true
        }
    }

    /// Calls `body` with every transfer that was last sent over the connection.
    func forEach(over name: ConnectionName?, _ body: (ActiveTransfer) -> Void) {
        loop.assertOnLoop()
        guard let name else { return }
        for transfer in live where transfer.connection.name == name { body(transfer) }
    }

    /// Whether another transfer was last sent over the connection.
    func isUsed(_ name: ConnectionName?, besides transfer: ActiveTransfer) -> Bool {
        loop.assertOnLoop()
        return live.contains { $0 !== transfer && $0.connection.name == name }
    }

    /// Calls `body` with every transfer that has started and not ended, except for those that wait in line.
    func forEachOutsideLine(_ body: (ActiveTransfer) -> Void) {
        loop.assertOnLoop()
        for transfer in live {
            if case .inLine = transfer.stage { continue }
            body(transfer)
        }
    }

    /// Calls `body` for each line, with one of its transfers and their number.
    func forEachLine(_ body: (ActiveTransfer, Int) -> Void) { lines.forEachOutside(body) }

    // MARK: Clocks

    /// Called after a timeout of the transfer has started or stopped. Only an earlier deadline is stored:
    /// `runDeadlines` finds out a later one when the stored deadline is due.
    func clockChanged(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        let next = transfer.clocks.next.at
        if transfer.deadlineIndex < 0 ? next != .never : next < deadlines.deadline(of: transfer) {
            deadlines.set(transfer, to: next)
        }
    }

    /// The time before which no timeout of any transfer expires.
    var deadline: LoopInstant { deadlines.earliest }

    /// Ends the transfers whose timeouts have expired at `instant`. A transfer whose complete response has arrived
    /// while the server stopped reading the request's body succeeds.
    func runDeadlines(until instant: LoopInstant) {
        loop.assertOnLoop()
        while let transfer = deadlines.due(at: instant) {
            let next = transfer.clocks.next
            if next.at <= instant {
                if transfer.plan.prewarms, case .receive = transfer.clocks.stretch {
                    // The connection is up. Its time to settle is over, or a timeout has cut it short.
                    release(transfer)
                } else if next.timeout == .idle, transfer.response.isComplete, let easy = transfer.easy {
                    transfer.measure(easy)
                    release(transfer)
                } else {
                    fail(transfer, transfer.timeout(next.timeout))
                }
            } else {
                deadlines.set(transfer, to: next.at)
            }
        }
    }

    // MARK: End

    /// Finishes or repeats the transfers that libcurl reports as done.
    func collect(_ multi: CurlMulti) {
        loop.assertOnLoop()
        var result = CURLE_OK
        while let handle = curlew_multi_next_done(multi.handle, &result) {
            guard let easy = TransferHandle.of(handle), let transfer = easy.transfer else { continue }
            finish(transfer, easy, result)
        }
    }

    /// Ends or repeats a transfer with which libcurl is done. The first rule that applies decides.
    func finish(_ transfer: ActiveTransfer, _ easy: TransferHandle, _ result: CURLcode) {
        // After this error nghttp2 accepts nothing more on the connection, but libcurl 8 would keep and reuse it.
        if result == CURLE_HTTP2, easy.errorMessage.hasPrefix("nghttp2 recv error") { sockets.end(easy) }
        // Curlew itself has ended the transfer.
        if transfer.hasFailed { return fail(transfer, transfer.failure(for: Int(result.rawValue), easy)) }
        if case .holdBack = transfer.sending.answer { return holdBack(transfer, easy) }
        // A final response without an error is the usual end: nothing can ask for another start.
        let mayStartOver =
            result != CURLE_OK || transfer.response.deferredHead != nil || transfer.connection.hasLostAddresses
        if mayStartOver, transfer.startOver(after: result, settings) { return enqueueAgain(transfer, easy) }
        if transfer.hasFailed { return fail(transfer, transfer.failure(for: Int(result.rawValue), easy)) }
        if result == CURLE_OK, transfer.plan.connectsOnly { return connected(transfer, easy) }
        if result == CURLE_OK, transfer.plan.prewarms { return prewarmed(transfer, easy) }
        guard result == CURLE_OK || transfer.hasWholeResponse(despite: result) else {
            return fail(transfer, transfer.failure(for: Int(result.rawValue), easy))
        }
        transfer.responseEnded(self)
        if transfer.hasFailed { return fail(transfer, transfer.failure(for: Int(CURLE_OK.rawValue), easy)) }
        guard transfer.response.hasHead else {
            return fail(transfer, transfer.makeError(.protocolViolation, "the exchange ended without a response"))
        }
        transfer.measure(easy)
        release(transfer)
    }

    /// Ends a transfer with an error. Must not be called from within a callback of libcurl.
    func end(_ transfer: ActiveTransfer, _ error: CurlewError) {
        loop.assertOnLoop()
        if transfer.hasEnded { return }
        transfer.result.error = error
        release(transfer)
    }

    /// Releases everything that a transfer used, once its result is known. Must be called once for each transfer; `end`
    /// ignores a transfer that has ended.
    func release(_ transfer: ActiveTransfer) {
        transfer.plan.route?.ended(transfer.routeEnd)
        let easy = transfer.easy
        if let easy {
            removeFromMulti(easy, of: transfer)
            handles.recycle(easy, after: transfer)
        }
        if case .resolving = transfer.stage, let question = transfer.plan.question {
            resolver?.abandon(question.name, by: transfer)
        }
        transfer.end()
        // A transfer with a handle has left its line. A line counts the transfers in it that have ended.
        if easy == nil { lines.remove(transfer) }
        deadlines.remove(transfer)
        let last = live.removeLast()
        if last !== transfer {
            live[transfer.entries.live] = last
            last.entries.live = transfer.entries.live
        }
        transfer.entries.live = -1
        endedCount += 1
        ended.append(transfer)
    }

    /// Takes the handle back from libcurl. The transfer still refers to it.
    private func removeFromMulti(_ easy: TransferHandle, of transfer: ActiveTransfer) {
        loop.assertOnLoop()
        if transfer.connection.mutedSocket >= 0 { sockets.receivingResumes(transfer) }
        if transfer.plan.prewarms { returnConnectionToPool(of: transfer, easy) }
        if settings.endsPlainHTTP2Connections, !transfer.plan.isTLS { sockets.end(easy) }
        // `nil` if the handle could not be added.
        let multi = handles.multi(at: easy.multi)
        multi?.remove(easy)
        easy.transfer = nil
        handlesInUse -= 1
        if settings.retirement != nil { endRetiredConnection(of: transfer) }
        // A connection that settled was in use until now, and a request may wait for it. libcurl 8.10 to 8.18 wakes the
        // request by a timer that it does not report.
        if transfer.plan.prewarms { multi?.askForTimer() }
        stopConnecting(transfer)
    }

    /// Removes the transfer from the containers of transfers that libcurl connects. Most have left the lines and
    /// `connecting` when they were sent.
    func stopConnecting(_ transfer: ActiveTransfer) {
        if transfer.entries.handshake != nil { handshakes.forget(transfer) }
        if transfer.entries.waitsInLibcurl { lines.remove(transfer) }
        if transfer.entries.connecting >= 0 { sockets.connecting.remove(transfer) }
        if settings.quirks.closesUnseen { sockets.forgetVanished(of: transfer) }
    }

    /// Sends the transfer again over another handle. The current handle is freed, because libcurl would remember the
    /// refusal in it.
    private func enqueueAgain(_ transfer: ActiveTransfer, _ easy: TransferHandle) {
        removeFromMulti(easy, of: transfer)
        transfer.reset()
        enqueue(transfer)
    }

    /// Called when a transfer was not sent, because it was suspended, its connection held bytes that no request had
    /// asked for, or the connection takes no further requests. A suspended transfer waits for `resume` without a
    /// handle; any other is enqueued again.
    private func holdBack(_ transfer: ActiveTransfer, _ easy: TransferHandle) {
        removeFromMulti(easy, of: transfer)
        handles.recycle(easy, after: transfer)
        transfer.reset()
        if transfer.pauses.isSuspended { transfer.stage = .held } else { enqueue(transfer) }
    }

    // MARK: The end of a turn

    /// Notifies the observers that everything the turn received has been delivered, and resumes the callers of the
    /// transfers that ended in it.
    func resumeCallers() {
        loop.assertOnLoop()
        if !turnObservers.isEmpty {
            for index in turnObservers.indices { turnObservers[index].turnEnded() }
            turnObservers.removeAll(keepingCapacity: true)
        }
        resumedCount = ended.count
        guard !ended.isEmpty else { return }
        for index in ended.indices { ended[index].resumeCaller() }
        ended.removeAll(keepingCapacity: true)
    }

    /// Fails every transfer in flight, and every later one.
    func closeAll() {
        loop.assertOnLoop()
        isClosed = true
        while let transfer = live.last { fail(transfer, transfer.completed(.transportShutDown)) }
    }
}
