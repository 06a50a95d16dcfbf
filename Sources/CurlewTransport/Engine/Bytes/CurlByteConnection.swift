internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Glibc

/// The user's side of a byte connection. Every call except `sendNow` becomes work for the loop.
final class CurlByteConnection: ByteConnection {
    let metrics: TransferMetrics
    private let number: Int
    private let queue: SendQueue
    private let loop: EngineLoop
    private let loopExecutor: LoopExecutor

    init(number: Int, queue: SendQueue, loop: EngineLoop, metrics: TransferMetrics) {
        (self.number, self.queue, self.loop, self.metrics) = (number, queue, loop, metrics)
        loopExecutor = LoopExecutor(loop)
    }

    deinit { close() }

    var executor: (any TaskExecutor)? { loopExecutor }

    func receive(maximum: Int) async throws(CurlewError) -> [UInt8]? {
        try await wait { .receive($0, maximum: max(1, maximum), $1) }
    }

    func send(_ bytes: [UInt8]) async throws(CurlewError) {
        if bytes.isEmpty { return }
        let isFull = try queue.add(bytes.count)
        post(.send(bytes))
        if isFull { try await wait { .awaitRoom($0, $1) } }
    }

    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int { queue.sendNow(bytes) }

    func finishSending() async throws(CurlewError) { try await wait { .finish($0, $1) } }

    func close() {
        queue.fail(.connectionClosed())
        post(.close)
    }

    private func post(_ command: ByteConnectionCommand) { loop.send(.byteConnection(number, command)) }

    /// Sends the loop a command and waits for its answer. A cancellation refers to the wait by its number.
    private func wait<Value: Sendable>(
        for command: @Sendable (Int, ByteConnectionCommand.Answer<Value>) -> ByteConnectionCommand
    ) async throws(CurlewError) -> Value {
        let wait = queue.nextWait()
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { answer in
                guard loop.send(.byteConnection(number, command(wait, answer))) else {
                    return answer.resume(returning: .failure(.transportShutDown))
                }
                // A cancellation before the command was queued found no wait to end, so it is repeated.
                if Task.isCancelled { post(.abandon(wait)) }
            }
        } onCancel: {
            post(.abandon(wait))
        }
        return try result.get()
    }
}

/// Runs tasks on the loop thread, for the code between a connection and its user. Reading and writing then needs no
/// change of threads.
///
/// Such a task must neither block nor run code of the library's users.
final class LoopExecutor: TaskExecutor {
    private let loop: EngineLoop

    init(_ loop: EngineLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !loop.send(.job(job, self)) else { return }
        // The loop has ended. The task still has to run, so that it learns of that and ends.
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The number of bytes that a connection has to send, shared by its user, on any thread, and the loop.
final class SendQueue: Sendable {
    private struct State {
        var queued = 0
        var failure: CurlewError?
        /// Whether a write found the connection broken. The kernel reports that once; a read then finds an ordinary
        /// end.
        var isBroken = false
        var lastWait = 0
    }

    private let state = Lock(State())
    private let limit: Int
    /// The socket, if it carries the peer's bytes as they are; `nil` over TLS, which only libcurl can write.
    private let socket: Int32?

    /// If `limit` is 0, a sender waits until everything is sent.
    init(limit: Int, socket: Int32?) { (self.limit, self.socket) = (max(0, limit), socket) }

    /// Sends the bytes that the kernel accepts, if nothing is queued. The socket is open, because it is closed only
    /// after `fail`. Errors are left to the loop, which gets them from libcurl.
    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let socket else { return 0 }
        return state.withLock { state in
            guard state.queued == 0, state.failure == nil, !state.isBroken else { return 0 }
            let count = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            if count < 0 { state.isBroken = errno != EAGAIN && errno != EINTR }
            return max(0, count)
        }
    }

    /// Whether a write found the connection broken. An end that a read then finds is not an ordinary one.
    var isBroken: Bool { state.withLock { $0.isBroken } }

    /// Adds bytes to be sent. Returns true if the sender has to wait; throws the reason if sending has ended.
    func add(_ count: Int) throws(CurlewError) -> Bool {
        let (failure, isFull) = state.withLock { state -> (CurlewError?, Bool) in
            if let failure = state.failure { return (failure, false) }
            state.queued += count
            return (nil, state.queued > limit)
        }
        if let failure { throw failure }
        return isFull
    }

    /// Subtracts bytes that were sent.
    func remove(_ count: Int) { state.withLock { $0.queued -= count } }

    var hasRoom: Bool { state.withLock { $0.queued <= limit } }

    /// Ends sending. The first reason is kept.
    func fail(_ error: CurlewError) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    /// A number for a wait, larger than all before it.
    func nextWait() -> Int {
        state.withLock { state in
            state.lastWait += 1
            return state.lastWait
        }
    }
}
