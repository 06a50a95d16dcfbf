internal import CCurl
internal import CurlewLocks
internal import Glibc

/// The work of a loop. The thread that has the turn makes every call, except for `waitForSockets`: the loop thread
/// calls it while a caller may have the turn.
protocol LoopClient: AnyObject, Sendable {
    /// The work that other threads send.
    associatedtype Work: Sendable

    /// Decides how long the next wait may last. The turn may be lent during the wait.
    func planWait()
    /// Whether callers may borrow turns during the wait.
    var lendsTurns: Bool { get }
    /// Waits for sockets as long as planned, or only checks them if `mayWait` is false. Must not touch anything that a
    /// borrowed turn touches.
    func waitForSockets(mayWait: Bool)
    /// Called after the wait, when the loop thread has its turn back.
    func beginTurn()
    func take(_ work: Work)
    /// Serves the sockets that the wait has found.
    func serveSockets()
    /// Called when all work of the turn is done: runs timers and hands results over.
    func endTurn()
    /// Called after a borrowed turn. Whether the planned wait has become too long.
    var waitsTooLong: Bool { get }
    /// Called when the loop ends: fails running work and frees everything.
    func end()
}

/// A thread that runs an event loop, and lends its turns to callers while it sleeps.
///
/// The thread retains this object until it ends, which it does after `stop`. It is not joined.
final class LoopThread<Client: LoopClient>: Sendable {
    let turnHolder = TurnHolder()
    private let inbox = Inbox<Client>()
    /// `nil` once the thread has ended.
    private let wakeUp: Lock<EventDescriptor?>

    init(wakeUp: EventDescriptor) { self.wakeUp = Lock(wakeUp) }

    // MARK: From any thread

    /// Queues work. Returns false once the loop has ended.
    @discardableResult
    func send(_ work: Client.Work) -> Bool { add(.work(work)) }

    /// Does the work at once on the calling thread if the loop thread sleeps and lends its turn; queues it otherwise.
    /// Returns false once the loop has ended.
    func sendOrDo(_ work: Client.Work) -> Bool {
        guard let client = inbox.borrowTurn() else { return add(.work(work)) }
        turnHolder.borrowedTurnBegins()
        client.take(work)
        client.endTurn()
        let lender = client.lendsTurns ? client : nil
        let wakesLoop = client.waitsTooLong
        turnHolder.borrowedTurnEnds()
        if inbox.giveTurnBack(lender: lender, wakesLoop: wakesLoop) { wake() }
        return true
    }

    /// Ends the thread, after all work that was queued before.
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

    /// Ends the loop thread's wait. The reference taken here keeps the descriptor open until the signal is written.
    private func wake() { wakeUp.withLock { $0 }?.signal() }

    // MARK: The thread

    /// Starts the thread, which has the first turn: from then on the client is touched in turns only. Returns false if
    /// the system has no thread left.
    func start(_ client: Client) -> Bool {
        // SAFETY: the thread takes over this reference; if none starts, it is released below.
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
        // SAFETY: without a thread nothing else releases the reference.
        if code != 0 { box.release() }
        return code == 0
    }

    private func run(_ client: Client) {
        turnHolder.threadBegins()
        var batch: [LoopItem<Client.Work>] = []
        var stops = false
        while !stops {
            client.planWait()
            client.waitForSockets(mayWait: inbox.prepareToSleep(lender: client.lendsTurns ? client : nil))
            inbox.takeTurnBack()
            client.beginTurn()
            // Work is done before sockets are served, because a command must take effect before the events that follow
            // it. libcurl may start the next transfer from within a socket's event, and that transfer may just have
            // been suspended.
            inbox.take(into: &batch)
            stops = carryOut(&batch, client)
            if !stops { client.serveSockets() }
            // Work that serving the sockets has queued is done before the next wait, in a limited number of rounds.
            var rounds = 0
            while !stops, rounds < Self.mostRounds, inbox.take(into: &batch) {
                stops = carryOut(&batch, client)
                rounds += 1
            }
            client.endTurn()
        }
        client.end()
        while !inbox.closeIfEmpty() {
            inbox.take(into: &batch)
            _ = carryOut(&batch, client)
            client.endTurn()
        }
        turnHolder.threadEnds()
        _ = wakeUp.withLock { exchange(&$0, with: nil) }
    }

    private static var mostRounds: Int { 8 }

    /// Does the work of `batch` and empties it. Returns whether the loop is to stop.
    private func carryOut(_ batch: inout [LoopItem<Client.Work>], _ client: Client) -> Bool {
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

/// The function of a new thread. It is not generic, so that a C function can receive it.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Knows which thread has the loop's turn: the loop thread, or a caller that has borrowed it.
final class TurnHolder: Sendable {
    private struct Threads {
        /// The loop thread; `nil` before its first turn and after its last.
        var own: pthread_t?
        /// The thread that has the turn; `nil` if `own` is `nil`.
        var holder: pthread_t?
    }

    private let threads = Lock(Threads())

    func threadBegins() { threads.withLock { $0 = Threads(own: pthread_self(), holder: pthread_self()) } }

    func threadEnds() { threads.withLock { $0 = Threads() } }

    /// Called when the calling thread has borrowed the turn.
    func borrowedTurnBegins() { threads.withLock { $0.holder = pthread_self() } }

    func borrowedTurnEnds() { threads.withLock { $0.holder = $0.own } }

    /// Whether the calling thread has the turn.
    var isCurrentThread: Bool {
        threads.withLock { $0.holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Stops a debug build in which a thread without the turn touches the loop's state.
    func assertOnLoop() { assert(isCurrentThread, "the engine's state was touched outside of its loop's turns") }
}
