internal import CCurl
internal import CurlewCore
internal import CurlewLocks

/// Owns the loop thread and, through it, all libcurl objects of one engine. Its `deinit` ends the thread.
///
/// The way of a transfer through the loop:
///
///     CurlTransport.perform
///      │ ActiveTransfer.start ─▶ EngineLoop.sendOrCarryOut(.start)
///      │                          │ a borrowed turn, or the loop thread's next one
///      │                          ├ EngineTurns.carryOut ─▶ Transfers.start, execute(command)
///      │                          │ each turn of the loop thread
///      │                          ├ EngineTurns.serveSockets ─▶ CurlMulti ─▶ libcurl ─▶ Callbacks ─▶ ActiveTransfer
///      │                          │ each turn
///      │                          └ EngineTurns.endTurn ─▶ Transfers.collect ─▶ finish ─▶ release
///      └◀──────────────────────────────────────────────── resumeCallers
///
/// Callbacks of libcurl end no transfer: they answer libcurl and record failures. The end of the turn asks libcurl
/// which transfers are done, and resumes their callers last.
final class TransferEngine: Sendable {
    let loop: EngineLoop

    /// `nil` if the system has no descriptor or thread left, or libcurl cannot be initialized.
    init?(_ settings: EngineSettings, published: Lock<TransportStatistics>) {
        guard CurlGlobal.isReady, let system = EpollQueue.make() else { return nil }
        let loop = EngineLoop(wakeUp: system.wakeUp)
        let turns = EngineTurns(settings, queue: system.queue, published: published, loop: loop)
        guard loop.start(turns) else { return nil }
        self.loop = loop
    }

    deinit { loop.stop() }

    /// Fails running transfers, closes every connection and ends the thread. Returns once the transfers and connections
    /// have ended.
    func close() async {
        await withUnsafeContinuation { waiter in
            if loop.send(.close(waiter)) { loop.stop() } else { waiter.resume() }
        }
    }
}

/// The loop of an engine. It makes the calls of `LoopClient` to `EngineTurns`.
typealias EngineLoop = LoopThread<EngineTurns>

/// Work that other threads send to an engine.
enum EngineWork: Sendable {
    case start(ActiveTransfer)
    case command(ActiveTransfer, TransferCommand)
    /// A call of the user of the byte connection with this number.
    case byteConnection(Int, ByteConnectionCommand)
    case snapshot(UnsafeContinuation<ConnectionSnapshot, Never>)
    case usablePool(ConnectionSnapshot.Origin, UnsafeContinuation<ConnectionSnapshot.Pool, Never>)
    /// One step of a task that runs on the loop thread.
    case job(UnownedJob, LoopExecutor)
    /// Fails running transfers, closes every connection, and resumes the waiter.
    case close(UnsafeContinuation<Void, Never>)
}

/// The steps of a turn, in the order in which the loop calls them, and what belongs to the turns: `Transfers`,
/// `Sockets` and `Handles`, which do the work.
// SAFETY: one thread at a time, the one that has the loop's turn, touches this object and what it owns; the lock of
// `LoopThread` hands the turn over. Before the loop thread starts, only the initializers run. `queue`, `waitingTime`
// and `foundCount` belong to the loop thread alone. `published` is a lock.
final class EngineTurns: LoopClient, @unchecked Sendable {
    private let transfers: Transfers
    private let sockets: Sockets
    private let handles: Handles
    private let published: Lock<TransportStatistics>
    /// `nil` once the loop has ended.
    private var queue: (any ReadinessQueue)?
    private var waitingTime: Int64 = 0
    private var foundCount = 0
    private var wait = PlannedWait()
    private var deadlineGuard = DeadlineGuard()
    private let mostEvents: Int
    private let mayLendTurns: Bool
    private var loopTurns = 0
    private var closing: [UnsafeContinuation<Void, Never>] = []

    init(
        _ settings: EngineSettings,
        queue: any ReadinessQueue,
        published: Lock<TransportStatistics>,
        loop: EngineLoop
    ) {
        sockets = Sockets(settings, queue: queue, loop: loop)
        handles = Handles(settings, sockets: sockets, loop: loop)
        transfers = Transfers(settings, sockets: sockets, handles: handles, loop: loop)
        self.published = published
        self.queue = queue
        mostEvents = queue.mostEvents
        mayLendTurns = settings.lendsTurns
    }

    func planWait() {
        wait.plan(until: deadline, at: sockets.now, isLent: lendsTurns)
        waitingTime = wait.begin()
    }

    /// Whether callers may start transfers in borrowed turns. The starts of several callers cost less if the loop
    /// thread does them together. Callers that were just resumed count as well, because they are about to start again.
    var lendsTurns: Bool { mayLendTurns && transfers.liveCount + transfers.resumedCount <= Self.mostAtOnce }

    private static let mostAtOnce = 2

    func waitForSockets(mayWait: Bool) {
        foundCount = queue?.wait(nanoseconds: mayWait ? waitingTime : 0) ?? 0
    }

    func beginTurn() {
        sockets.beginTurn(eventCount: foundCount)
        deadlineGuard.waited(from: wait.began, found: foundCount, of: mostEvents, watched: sockets.poller.mostWatched)
        if foundCount > 0 { wait.isBusy = true }
        loopTurns += 1
    }

    /// Whether the planned wait ends after the earliest deadline, or its end has passed already: the loop thread may
    /// have computed the length of the wait before and not yet begun to wait.
    var waitsTooLong: Bool { deadline < wait.end || (wait.end != .never && wait.end <= .now()) }

    private var deadline: LoopInstant {
        min(transfers.deadline, transfers.pings.due, sockets.connecting.due, sockets.refusedDue, handles.deadline)
    }

    func carryOut(_ work: EngineWork) {
        wait.isBusy = true
        switch work {
        case .start(let transfer): transfers.start(transfer)
        case .command(let transfer, let command): transfers.execute(command, for: transfer)
        case .byteConnection(let number, let command): transfers.byteConnections.execute(command, for: number)
        case .snapshot(let waiter): waiter.resume(returning: transfers.snapshot())
        case .usablePool(let origin, let waiter): waiter.resume(returning: transfers.usablePool(of: origin))
        case .job(let job, let executor): job.runSynchronously(on: executor.asUnownedTaskExecutor())
        case .close(let waiter):
            closeAll()
            closing.append(waiter)
        }
    }

    func serveSockets() {
        for index in 0..<sockets.poller.eventCount {
            // Work done earlier in this turn may have closed the socket.
            guard let ready = sockets.poller.take(index) else { continue }
            switch SocketOwner(number: ready.owner) {
            case .multi(let index):
                guard let multi = handles.multi(at: index) else { continue }
                var events: Int32 = 0
                if !ready.readiness.isDisjoint(with: [.read, .hangUp]) { events |= CURL_CSELECT_IN }
                if ready.readiness.contains(.write) { events |= CURL_CSELECT_OUT }
                if !ready.readiness.isDisjoint(with: [.error, .closed]) { events |= CURL_CSELECT_ERR }
                multi.socketReady(ready.fd, events)
            case .byteConnection: transfers.byteConnections.socketReady(ready)
            case .settlingTransfer: transfers.socketReady(ofSettling: ready.fd)
            }
        }
    }

    func endTurn() {
        if sockets.connecting.due <= sockets.now { runConnecting() }
        if transfers.pings.due <= sockets.now { transfers.sendPings() }
        handles.forEachMulti { multi in
            if multi.deadline <= sockets.now { multi.timerExpired() }
            transfers.collect(multi)
        }
        // Deadlines after `seenUntil` remain, so that the next wait returns at once and the sockets are checked first.
        // A borrowed turn does not wait for sockets, so it leaves `seenUntil` as it is.
        transfers.runDeadlines(until: deadlineGuard.seenUntil)
        transfers.addWaiting()
        publish()
        // Observers and callers are notified last: a caller that continues at once would compete with the work of this
        // turn.
        transfers.resumeCallers()
        guard !closing.isEmpty else { return }
        for waiter in closing { waiter.resume() }
        closing.removeAll()
    }

    /// Runs the multi handles of transfers that have been connecting for long.
    private func runConnecting() {
        var done: Set<Int> = []
        for transfer in sockets.connecting.late(at: sockets.now) {
            guard let index = transfer.easy?.multi, done.insert(index).inserted else { continue }
            handles.multi(at: index)?.runAll()
        }
    }

    func end() {
        closeAll()
        endTurn()
        handles.freeShare()
        sockets.close()
        queue = nil
    }

    private func closeAll() {
        transfers.closeAll()
        transfers.byteConnections.closeAll()
        handles.closeAll()
    }

    private func publish() {
        var snapshot = TransportStatistics()
        snapshot.liveTransfers = transfers.liveCount
        snapshot.easyHandlesInUse = transfers.handlesInUse
        snapshot.easyHandlesIdle = handles.idleCount
        snapshot.openSockets = sockets.poller.ownedCount
        snapshot.connectionsMade = sockets.poller.openedCount
        snapshot.transfersEnded = transfers.endedCount
        snapshot.loopTurns = loopTurns
        snapshot.byteConnections = transfers.byteConnections.count
        published.withLock { $0 = snapshot }
    }
}
