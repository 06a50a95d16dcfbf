internal import CCurl
internal import CurlewLocks
internal import Glibc

/// What the loop runs. Every call comes from the thread that has the turn; `waitForSockets` alone comes from the loop thread
/// while a caller may have the turn.
protocol LoopClient: AnyObject, Sendable {
    /// What other threads ask of it.
    associatedtype Work: Sendable

    /// Decides how long the next wait may last. The turn may be lent from then on.
    func planWait()
    /// Whether callers may have turns of their own during the wait.
    var lendsTurns: Bool { get }
    /// Waits for sockets: not at all, or as long as was planned. Touches nothing that a borrowed turn does.
    func waitForSockets(mayWait: Bool)
    /// The wait is over, and the turn is the loop thread's again.
    func beginTurn()
    func take(_ work: Work)
    /// Serves the sockets that the wait has found.
    func serveSockets()
    /// Everything of this turn was taken: run timers, hand results over.
    func endTurn()
    /// After a borrowed turn: whether the planned wait is too long by now.
    var waitsTooLong: Bool { get }
    /// The loop ends: fail what runs, free everything.
    func end()
}

/// One thread that is an event loop, and lends its turns to callers while it sleeps.
///
/// The thread owns this object; it ends after `stop`. It is not joined.
final class LoopThread<Client: LoopClient>: Sendable {
    let identity = LoopIdentity()
    private let inbox = Inbox<Client>()
    /// nil when the thread has ended.
    private let wakeUp: Lock<(EventDescriptor)?>

    init(wakeUp: EventDescriptor) { self.wakeUp = Lock(wakeUp) }

    // MARK: From any thread

    /// Queues work; false once the loop has ended.
    @discardableResult
    func send(_ work: Client.Work) -> Bool { add(.work(work)) }

    /// Does the work at once on the calling thread where the loop thread sleeps and lends its turn; queues it otherwise.
    /// False once the loop has ended.
    func sendOrDo(_ work: Client.Work) -> Bool {
        guard let client = inbox.borrowTurn() else { return send(work) }
        identity.borrowedTurnBegins()
        client.take(work)
        client.endTurn()
        let lender = client.lendsTurns ? client : nil
        let wakesLoop = client.waitsTooLong
        identity.borrowedTurnEnds()
        if inbox.giveTurnBack(lender: lender, wakesLoop: wakesLoop) { wake() }
        return true
    }

    /// Ends the thread, after everything that was queued before.
    func stop() { _ = add(.stop) }

    private func add(_ item: LoopItem<Client.Work>) -> Bool {
        switch inbox.add(item) {
        case .queued: return true
        case .wakeNeeded:
            wake()
            return true
        case .refused: return false
        }
    }

    /// Its descriptor stays open until this has come back: it is the object's.
    private func wake() { wakeUp.withLock { $0 }?.signal() }

    // MARK: The thread

    /// Starts the thread, which has the first turn: nothing outside of a turn touches the client from then on. False where the system has no thread left.
    func start(_ client: Client) -> Bool {
        // SAFETY: the thread takes this reference over; where none starts it is released below.
        let box = Unmanaged.passRetained(ThreadBody { self.run(client) })
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                // SAFETY: balances the passRetained of `start`, once, on the new thread.
                let body = Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
                curlew_block_signals()
                curlew_name_thread("curlew-loop")
                body.run()
                return nil
            },
            box.toOpaque()
        )
        // SAFETY: without a thread the reference is not taken elsewhere.
        if code != 0 { box.release() }
        return code == 0
    }

    private func run(_ client: Client) {
        identity.threadBegins()
        var batch: [LoopItem<Client.Work>] = []
        var stops = false
        while !stops {
            client.planWait()
            client.waitForSockets(mayWait: inbox.prepareToSleep(lender: client.lendsTurns ? client : nil))
            inbox.takeTurnBack()
            client.beginTurn()
            // Before the sockets: a command that was given before its effect reached a socket comes first. libcurl may
            // start the next transfer from within a socket's event, and that one may just have been suspended.
            stops = takeAll(&batch, client)
            if !stops { client.serveSockets() }
            // What the sockets have set going on this thread is done before the next wait, but not for ever.
            for _ in 0..<8 where !stops && !inbox.isEmpty { stops = takeAll(&batch, client) }
            client.endTurn()
        }
        client.end()
        while !inbox.closeIfEmpty() {
            _ = takeAll(&batch, client)
            client.endTurn()
        }
        identity.threadEnds()
        _ = wakeUp.withLock { exchange(&$0, with: nil) }
    }

    private func takeAll(_ batch: inout [LoopItem<Client.Work>], _ client: Client) -> Bool {
        inbox.take(into: &batch)
        var stops = false
        for item in batch {
            switch item {
            case .work(let work): client.take(work)
            case .stop: stops = true
            }
        }
        batch.removeAll(keepingCapacity: true)
        return stops
    }
}

/// What a new thread does: not generic, so that a C function can take it.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
