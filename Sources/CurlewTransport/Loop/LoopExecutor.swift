internal import CCurl
internal import CurlewLocks
internal import Glibc

/// What runs on the loop thread. Every call comes from that thread.
protocol LoopClient: AnyObject {
    /// Waits for sockets, at most until the next deadline.
    func waitForSockets(mayWait: Bool)
    func take(_ item: LoopItem)
    /// Serves the sockets that the wait has found.
    func serveSockets()
    /// Everything of this turn was taken: run timers, hand results over.
    func endTurn()
    /// The loop ends: fail what runs, free everything.
    func end()
}

/// One thread that is a Swift executor and an event loop at once.
///
/// The thread owns this object; it ends after `stop`. It is not joined.
final class LoopExecutor: SerialExecutor, Sendable {
    private let inbox = Inbox()
    private let thread = Lock<pthread_t?>(nil)
    /// nil when the thread has ended.
    private let wakeUp: Lock<(any WakeUp)?>

    init(wakeUp: any WakeUp) { self.wakeUp = Lock(wakeUp) }

    // MARK: From any thread

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch inbox.add(.job(job)) {
        case .queued: break
        case .wakeNeeded: wake()
        // The loop has ended, and a job must never get lost.
        case .refused: job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    /// Queues an item; false once the loop has ended.
    @discardableResult
    func send(_ item: LoopItem) -> Bool {
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

    /// Whether the caller runs on the loop's thread.
    var isCurrent: Bool { thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    // MARK: The thread

    /// Starts the thread; it makes its client there, so that the client is never touched elsewhere.
    /// False where the system has no thread left.
    func start(_ client: any LoopClient & Sendable) -> Bool {
        // SAFETY: the thread takes this reference over; where none starts it is released below.
        let box = Unmanaged.passRetained(Start(executor: self, client: client))
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
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                curlew_block_signals()
                curlew_name_thread("curlew-loop")
                start.executor.run(start.client)
                return nil
            },
            box.toOpaque()
        )
        // SAFETY: without a thread the reference is not taken elsewhere.
        if code != 0 { box.release() }
        return code == 0
    }

    private final class Start: Sendable {
        let executor: LoopExecutor
        let client: any LoopClient & Sendable

        init(executor: LoopExecutor, client: any LoopClient & Sendable) {
            self.executor = executor
            self.client = client
        }
    }

    private func run(_ client: any LoopClient) {
        thread.withLock { $0 = pthread_self() }
        var batch: [LoopItem] = []
        var stops = false
        while !stops {
            client.waitForSockets(mayWait: inbox.prepareToSleep())
            // Before the sockets: a command that was given before its effect reached a socket comes first. libcurl may
            // start the next transfer from within a socket's event, and that one may just have been suspended.
            stops = takeAll(&batch, client)
            if !stops { client.serveSockets() }
            client.endTurn()
        }
        client.end()
        while !inbox.closeIfEmpty() {
            _ = takeAll(&batch, client)
            client.endTurn()
        }
        thread.withLock { $0 = nil }
        _ = wakeUp.withLock { exchange(&$0, with: nil) }
    }

    private func takeAll(_ batch: inout [LoopItem], _ client: any LoopClient) -> Bool {
        inbox.take(into: &batch)
        var stops = false
        for item in batch {
            switch item {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .stop: stops = true
            case .start, .command: client.take(item)
            }
        }
        batch.removeAll(keepingCapacity: true)
        return stops
    }
}
