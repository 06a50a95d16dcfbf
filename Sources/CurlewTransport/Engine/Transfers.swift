internal import CCurl
internal import CurlewCore

/// The transfers of one engine: which are in flight, how they start, how commands act on them, and how they end.
///
/// It has the steps that put a transfer into a container or take it out: the list of live transfers, the queues, the
/// handles and multi handles, the deadlines. Steps that change the transfer alone are those of `ActiveTransfer`, and
/// those that libcurl's callbacks call when it has a connection: `connectionStarted`, `authorizeSend`, `wasSent`.
///
/// Used only in the loop's turns, as are `Sockets` and `Handles`; debug builds assert this at most entries. No access
/// to a stored property spans a call into libcurl or user code: methods read values, make the call, and then store the
/// results.
final class Transfers {
    let settings: EngineSettings
    let sockets: Sockets
    let handles: Handles
    let handshakes: Handshakes
    let byteConnections: ByteConnections
    /// `nil` if libcurl resolves names.
    private let resolver: NameResolver?
    let loop: EngineLoop
    var addressTexts = AddressTexts()
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
    /// The deadlines of the transfers' timeouts. See `Transfers+Clocks`.
    var deadlines = DeadlineHeap<ActiveTransfer>()
    // SAFETY: unchecked for speed (Docs/Internals/Engine.md); no access spans a call into libcurl or user code.
    @exclusivity(unchecked) var queues: ConnectionQueues
    /// The transfers that have ended and whose callers are resumed at the end of the turn.
    private var ended: [ActiveTransfer] = []
    /// The observers to notify at the end of the turn.
    var turnObservers: [any TurnObserver] = []

    init(_ settings: EngineSettings, sockets: Sockets, handles: Handles, loop: EngineLoop) {
        self.settings = settings
        self.sockets = sockets
        self.handles = handles
        self.loop = loop
        queues = ConnectionQueues(connections: settings.limits.host, proxy: settings.proxy) {
            sockets.connections.multiplexes($0)
        }
        resolver = NameResolver(settings)
        handshakes = Handshakes(settings, loop: loop)
        byteConnections = ByteConnections(sockets: sockets, handles: handles, loop: loop)
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
        if isClosed { return fail(transfer, transfer.withDetails(.transportShutDown)) }
        if let failure = transfer.failure { return fail(transfer, failure) }
        transfer.sink.willStart(transfer)
        if let failure = transfer.failure { return fail(transfer, failure) }
        if transfer.pauses.isSuspended { return waitForResume(transfer) }
        enqueue(transfer)
    }

    /// Gives the transfer to libcurl, unless it has to wait: for its host's addresses, or in its origin's queue.
    /// Without `answer` the user's resolver is asked, if there is one.
    func enqueue(_ transfer: ActiveTransfer, answer: [String]? = nil) {
        if let question = transfer.plan.question, let resolver {
            transfer.connection.resolvedAddresses = answer ?? resolver.find(question, for: transfer)
            guard transfer.connection.resolvedAddresses != nil else {
                // It waits without a handle, while its connect timeout runs.
                transfer.stage = .resolving
                transfer.clocks.resolvingStarted(at: now)
                clockChanged(transfer)
                return
            }
        }
        if transfer.plan.prewarms, hasNothingToOpen(transfer) { return release(transfer) }
        transfer.clocks.enqueued(at: now)
        if queues.add(transfer, besides: live) { return addToMulti(transfer) }
        transfer.stage = .queued
        clockChanged(transfer)
    }

    /// Gives waiting transfers to libcurl, each origin's most urgent first, while there is room.
    func addWaiting() {
        loop.assertOnLoop()
        while let transfer = queues.next() {
            if transfer.pauses.isSuspended { waitForResume(transfer) } else { addToMulti(transfer) }
        }
    }

    /// Lets a suspended transfer without a handle wait for `resume`.
    private func waitForResume(_ transfer: ActiveTransfer) {
        queues.remove(transfer)
        transfer.clocks.reset(isPaused: true)
        transfer.stage = .suspended
        clockChanged(transfer)
    }

    private func addToMulti(_ transfer: ActiveTransfer) {
        if transfer.plan.prewarms, hasNothingToOpen(transfer) { return release(transfer) }
        // Another transfer may have got a newer answer while this one was in its queue.
        if let question = transfer.plan.question, let newest = resolver?.newest(question.name) {
            transfer.connection.resolvedAddresses = newest
        }
        guard let (easy, code) = handles.preparedHandle(for: transfer, of: self),
            let multi = handles.multi(for: transfer)
        else {
            let shortage = SystemError.shortage(transfer.phase).map(transfer.withDetails)
            return fail(transfer, shortage ?? transfer.makeError(.`internal`, "libcurl gives no handle"))
        }
        guard code == CURLE_OK else {
            // The handle is not recycled: it is unknown which of its options are set.
            return fail(transfer, transfer.error(forRefusedOption: code))
        }
        if transfer.sending.upload != nil, !openBody(of: transfer, easy) { return }
        easy.transfer = transfer
        if needsTrace(transfer) { easy.setTrace(.work) }
        transfer.attach(to: easy)
        handlesInUse += 1
        clockChanged(transfer)
        let added = multi.add(easy)
        guard added == CURLM_OK else {
            return fail(transfer, transfer.makeError(.`internal`, String(cString: curl_multi_strerror(added))))
        }
    }

    /// Opens the body, which runs user code. Returns false if that has cancelled or suspended the transfer, which has
    /// then failed, or waits for `resume`.
    private func openBody(of transfer: ActiveTransfer, _ easy: TransferHandle) -> Bool {
        transfer.openBody()
        guard transfer.hasFailed || transfer.pauses.isSuspended else { return true }
        handles.recycle(easy, after: transfer)
        if let failure = transfer.failure { fail(transfer, failure) } else { waitForResume(transfer) }
        return false
    }

    /// Whether the trace is on from the beginning. A libcurl that does not ask before it sends shows a send only in its
    /// trace. Every libcurl shows requests for tunnels only there.
    private func needsTrace(_ transfer: ActiveTransfer) -> Bool {
        if !settings.quirks.asksBeforeSending { return true }
        let mayTunnel = transfer.plan.isTLS || transfer.plan.makesByteConnection
        return mayTunnel && transfer.mayUseProxyWithCredentials(settings)
    }

    // MARK: Commands

    func execute(_ command: TransferCommand, for transfer: ActiveTransfer) {
        loop.assertOnLoop()
        if transfer.hasEnded { return }
        switch command {
        case .cancel(let error):
            if case .created = transfer.stage { return transfer.cancelBeforeStart(error) }
            fail(transfer, transfer.withDetails(transfer.cancellation(error)))
        case .resolved(let result): resolved(transfer, result)
        case .suspend:
            transfer.pauses.isSuspended = true
            applyPauses(transfer)
        case .resume:
            transfer.pauses.isSuspended = false
            guard case .suspended = transfer.stage else { return applyPauses(transfer) }
            // Its timeouts have to run again; otherwise they would never expire.
            if !transfer.pauses.isPaused { transfer.clocks.resumed(at: now) }
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
        loop.assertOnLoop()
        if transfer.hasEnded { return }
        var error = error
        if let easy = transfer.easy, error.metrics == nil {
            transfer.measure(easy)
            error.metrics = transfer.result.metrics
        }
        transfer.result.error = error
        release(transfer)
    }

    /// Ends a transfer that failed and with which libcurl is done: with Curlew's own reason if there is one, otherwise
    /// with the error that libcurl's result means.
    private func endAfterCurl(_ transfer: ActiveTransfer, _ easy: TransferHandle, _ result: CURLcode) {
        fail(transfer, transfer.error(forCurlResult: Int(result.rawValue), easy))
    }

    // MARK: Transfers on a connection

    /// Called when a server has announced the end of a transfer's connection. Records the announcement for the other
    /// transfers on that connection: libcurl writes it to the trace of the one for which it happens to read.
    func connectionGoesAway(of transfer: ActiveTransfer, _ goAway: DeliveryEvidence.GoAway) {
        forEach(over: transfer.connection.name) { other in
            if other !== transfer { other.sending.evidence.record(goAway) }
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

    /// Calls `body` with every transfer that has started and not ended, except for those that wait in a queue.
    func forEachOutsideQueues(_ body: (ActiveTransfer) -> Void) {
        loop.assertOnLoop()
        for transfer in live {
            if case .queued = transfer.stage { continue }
            body(transfer)
        }
    }

    // MARK: End

    /// Finishes or repeats the transfers that libcurl reports as done. Called at the end of each turn.
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
        if result == CURLE_HTTP2, easy.errorMessage.hasPrefix("nghttp2 recv error") {
            sockets.shutDownConnection(of: easy)
        }
        // Curlew itself has ended the transfer.
        if transfer.hasFailed { return endAfterCurl(transfer, easy, result) }
        if case .holdBack = transfer.sending.answer { return enqueueAgain(transfer, easy, recycles: true) }
        // A final response without an error is the usual end: nothing can ask for another start.
        let mayRestart =
            result != CURLE_OK || transfer.response.deferredHead != nil || transfer.connection.hasLostAddresses
        if mayRestart, let restart = transfer.reasonToRestart(after: result), transfer.prepare(for: restart, settings) {
            return enqueueAgain(transfer, easy, recycles: false)
        }
        if transfer.hasFailed { return endAfterCurl(transfer, easy, result) }
        if result == CURLE_OK, transfer.plan.makesByteConnection { return byteConnectionOpened(transfer, easy) }
        if result == CURLE_OK, transfer.plan.prewarms { return prewarmed(transfer, easy) }
        guard result == CURLE_OK || transfer.hasWholeResponse(despite: result) else {
            return endAfterCurl(transfer, easy, result)
        }
        transfer.responseEnded(self)
        if transfer.hasFailed { return endAfterCurl(transfer, easy, CURLE_OK) }
        guard transfer.response.hasHead else {
            return fail(transfer, transfer.makeError(.protocolViolation, "the exchange ended without a response"))
        }
        transfer.measure(easy)
        release(transfer)
    }

    /// Releases everything that a transfer used, once its result is known. Its caller is resumed at the end of the turn
    /// (`resumeCallers`). Must be called once for each transfer; `fail` ignores a transfer that has ended.
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
        // Without a handle it may be in a queue, or was to get one. With one, `stopConnecting` has removed it.
        if easy == nil { queues.remove(transfer) }
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
        if settings.endsPlainHTTP2Connections, !transfer.plan.isTLS { sockets.shutDownConnection(of: easy) }
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

    /// Removes the transfer from the queues, and from the containers of transfers that libcurl connects. Most have left
    /// `connecting` when they were sent.
    func stopConnecting(_ transfer: ActiveTransfer) {
        if transfer.entries.handshake != nil { handshakes.forget(transfer) }
        queues.remove(transfer)
        if transfer.entries.connecting >= 0 { sockets.connecting.remove(transfer) }
        if settings.quirks.closesUnseen { sockets.forgetVanished(of: transfer) }
    }

    /// Takes the transfer off its handle and enqueues it again, or lets it wait for `resume` if it is suspended. Pass
    /// `recycles: false` if it restarts: libcurl would remember the refusal in the handle, which is then freed.
    func enqueueAgain(_ transfer: ActiveTransfer, _ easy: TransferHandle, recycles: Bool) {
        removeFromMulti(easy, of: transfer)
        if recycles { handles.recycle(easy, after: transfer) }
        transfer.reset()
        if transfer.pauses.isSuspended { waitForResume(transfer) } else { enqueue(transfer) }
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
        while let transfer = live.last { fail(transfer, transfer.withDetails(.transportShutDown)) }
    }
}
