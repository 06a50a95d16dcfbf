internal import CCurl
internal import CurlewLocks
internal import Dispatch
internal import Glibc

/// The work of a loop; an engine's is `EngineTurns`. The thread that has the turn makes every call, except for
/// `waitForSockets`: the loop thread calls it while a caller may have the turn.
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
    /// Carries out one piece of work, in the order in which the pieces were sent.
    func carryOut(_ work: Work)
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
/// The turn is the right to touch the client's state. The loop thread has it while it is awake. While the loop thread
/// sleeps, a caller may borrow it (Docs/Decisions/0019). One lock guards whose turn it is, together with the queue,
/// which is the only other way into the loop and keeps a start and its cancellation in order.
///
/// The thread retains this object until it ends, which it does after `stop`. It is not joined.
final class LoopThread<Client: LoopClient>: Sendable {
    private enum Item: Sendable {
        case work(Client.Work)
        case stop
    }

    private enum Phase {
        /// The loop thread has the turn, and checks the queue before it sleeps.
        case awake
        /// The loop thread is in its wait, or about to enter it, and the queue is empty. If there is a lender, a caller
        /// may borrow the turn.
        case asleep(lender: Client?)
        /// A caller has the turn. `isWanted`: the loop thread has woken up meanwhile and waits for the turn.
        case lent(to: pthread_t, isWanted: Bool)
        /// The loop has ended and accepts nothing.
        case closed
    }

    private struct State {
        var items: [Item] = []
        var phase = Phase.awake
        /// `nil` before the thread's first turn.
        var thread: pthread_t?
    }

    private let state = Lock(State())
    /// Signalled when a caller gives back a turn that the loop thread waits for.
    private let returned = DispatchSemaphore(value: 0)
    /// `nil` once the thread has ended.
    private let wakeUp: Lock<EventDescriptor?>

    init(wakeUp: EventDescriptor) { self.wakeUp = Lock(wakeUp) }

    // MARK: From any thread

    /// Queues work. Returns false once the loop has ended.
    @discardableResult
    func send(_ work: Client.Work) -> Bool { add(.work(work)).isAccepted }

    /// Carries the work out at once, on the calling thread, if the loop thread sleeps and lends its turn; queues it
    /// otherwise. Returns false once the loop has ended.
    func sendOrCarryOut(_ work: Client.Work) -> Bool {
        let (isAccepted, lender) = add(.work(work), borrowing: true)
        guard let client = lender else { return isAccepted }
        // In an engine the client is `EngineTurns`: from here on, it runs on the caller's thread.
        client.carryOut(work)
        client.endTurn()
        giveTurnBack(lender: client.lendsTurns ? client : nil, wakesLoop: client.waitsTooLong)
        return true
    }

    /// Ends the thread, after all work that was queued before.
    func stop() { _ = add(.stop) }

    /// Queues an item; it is not accepted once the loop has ended. With `borrowing`, the caller gets the turn instead if
    /// the loop thread sleeps and lends it: nothing is queued, and the lender is returned. The caller must give the turn
    /// back soon, because the loop thread may wait for it.
    private func add(_ item: Item, borrowing: Bool = false) -> (isAccepted: Bool, lender: Client?) {
        let (isAccepted, mustWake, lender) = state.withLock { state -> (Bool, Bool, Client?) in
            switch state.phase {
            case .closed: return (false, false, nil)
            case .asleep(let lender?) where borrowing:
                state.phase = .lent(to: pthread_self(), isWanted: false)
                return (true, false, lender)
            case .awake, .lent:
                state.items.append(item)
                return (true, false, nil)
            case .asleep:
                state.items.append(item)
                state.phase = .awake
                return (true, true, nil)
            }
        }
        if mustWake { wake() }
        return (isAccepted, lender)
    }

    /// Ends the loop thread's wait. The reference taken here keeps the descriptor open until the signal is written.
    private func wake() { wakeUp.withLock { $0 }?.signal() }

    /// Ends a borrowed turn. `lender` lends the next turn; `wakesLoop` is true if the loop thread sleeps for too long.
    private func giveTurnBack(lender: Client?, wakesLoop: Bool) {
        let (isWanted, mustWake) = state.withLock { state in
            if case .lent(_, isWanted: true) = state.phase {
                state.phase = .awake
                return (true, false)
            }
            // Items that were added during the turn were queued without waking the loop thread.
            let mustWake = wakesLoop || !state.items.isEmpty
            state.phase = mustWake ? .awake : .asleep(lender: lender)
            return (false, mustWake)
        }
        if isWanted { returned.signal() }
        if mustWake { wake() }
    }

    /// Whether the calling thread has the turn. Nobody has it while the loop thread sleeps and has not lent it.
    var callerHasTurn: Bool {
        state.withLock { state in
            let holder: pthread_t? =
                switch state.phase {
                case .awake: state.thread
                case .lent(let borrower, _): borrower
                case .asleep, .closed: nil
                }
            return holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
    }

    /// Stops a debug build in which a thread without the turn touches the loop's state.
    func assertOnLoop() { assert(callerHasTurn, "the engine's state was touched outside of its loop's turns") }

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
        threadBegins()
        var batch: [Item] = []
        var stops = false
        while !stops {
            client.planWait()
            client.waitForSockets(mayWait: prepareToSleep(lender: client.lendsTurns ? client : nil))
            takeTurn(with: &batch)
            client.beginTurn()
            // Work is done before sockets are served, because a command must take effect before the events that follow
            // it. libcurl may start the next transfer from within a socket's event, and that transfer may just have
            // been suspended.
            stops = carryOut(&batch, client)
            if !stops { client.serveSockets() }
            // Work that serving the sockets has queued is done before the next wait, in a limited number of rounds.
            var rounds = 0
            while !stops, rounds < Self.mostRounds, takeTurn(with: &batch) {
                stops = carryOut(&batch, client)
                rounds += 1
            }
            client.endTurn()
        }
        client.end()
        while !closeIfEmpty() {
            takeTurn(with: &batch)
            _ = carryOut(&batch, client)
            client.endTurn()
        }
        _ = wakeUp.withLock { exchange(&$0, with: nil) }
    }

    private static var mostRounds: Int { 8 }

    /// Gives the calling thread the turn. Called by the loop's thread, and by tests that run turns without it.
    func threadBegins() { state.withLock { $0.thread = pthread_self() } }

    /// Whether the loop thread may wait. If so, the thread has given up its turn, and the next `add` wakes it.
    private func prepareToSleep(lender: Client?) -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .asleep(lender: lender)
            return true
        }
    }

    /// Gives the turn to the loop thread, which has it or comes from its wait, and moves all queued items into `batch`.
    /// Blocks while a caller has the turn. `batch` must be empty; the queue reuses its storage. Returns false if there
    /// were no items.
    @discardableResult
    private func takeTurn(with batch: inout [Item]) -> Bool {
        // SAFETY: both arrays are only swapped; `batch` belongs to the loop thread.
        let hasTurn = withUnsafeMutablePointer(to: &batch) { pointer in
            nonisolated(unsafe) let pointer = pointer
            return state.withLock { state in
                if case .lent(let borrower, _) = state.phase {
                    state.phase = .lent(to: borrower, isWanted: true)
                    return false
                }
                state.phase = .awake
                swap(&state.items, &pointer.pointee)
                return true
            }
        }
        guard hasTurn else {
            // Afterwards the loop thread is awake, and nobody can borrow the turn.
            returned.wait()
            return takeTurn(with: &batch)
        }
        return !batch.isEmpty
    }

    /// Does the work of `batch` and empties it. Returns whether the loop is to stop.
    private func carryOut(_ batch: inout [Item], _ client: Client) -> Bool {
        var stops = false
        for item in batch {
            switch item {
            case .work(let work): client.carryOut(work)
            case .stop: stops = true
            }
        }
        batch.removeAll(keepingCapacity: true)
        return stops
    }

    /// Closes the queue if it is empty; returns whether it did.
    private func closeIfEmpty() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .closed
            return true
        }
    }
}

/// The function of a new thread. It is not generic, so that a C function can receive it.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
