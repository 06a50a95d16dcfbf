internal import CCurl
internal import CurlewCore
internal import Foundation

/// A command for a transfer, executed in the loop's turns.
enum TransferCommand {
    case cancel(CurlewError)
    /// The user's resolver has found the host's addresses, or failed.
    case resolved(Result<[String], CurlewError>)
    case suspend
    case resume
    case resumeReceiving
    case wakeBody
}

/// One exchange, from the call of `perform` to its return.
///
/// Each phase has a file, which has the phase's state and the functions that change it:
///
/// | phase | state | file |
/// |---|---|---|
/// | begins, gets and loses a handle, resumes its caller | `stage`, `entries`, `result` | this one |
/// | waits for addresses and a connection | `connection` (`TransferConnection`) | `+Connection` |
/// | is sent: the permission, the body, its trailers | `sending` (`SendingState`) | `+Sending` |
/// | is sent again, by libcurl or by the engine | `sending` | `+Resending` |
/// | receives heads and bodies | `response` (`ResponseState`) | `+Receiving` |
/// | is paused | `pauses` (`TransferPauses`) | `TransferPauses` |
/// | runs out of time | `clocks` (`TransferClocks`) | `TransferClocks` in `Plan` |
/// | ends with an error | `failure` | `+Failure` |
/// | is measured | `result.metrics` | `+Metrics` |
///
/// `UploadSource` and `DeliveryEvidence` are parts of `sending`. `request` and `plan` say what is sent, and how libcurl
/// is told. A step that puts the transfer into a container of the engine, or takes it out, is one of `Transfers`; only
/// `connectionStarted`, `authorizeSend` and `wasSent`, which libcurl's callbacks call, tell the queues and the
/// containers of connecting transfers themselves that it has a connection.
// SAFETY: `perform` creates the transfer and hands it to the loop through its queue, or borrows the loop's turn. Until
// the continuation is resumed only the thread that has the turn touches the variables, afterwards only `perform`. Other
// threads use `loop` alone, which is constant.
final class ActiveTransfer: @unchecked Sendable, DeadlineHolder {
    enum Stage {
        case created
        /// Suspended before the request is sent, or sent again. The transfer has no handle.
        case suspended
        /// Waits for the user's resolver. The transfer has no handle.
        case resolving
        /// Waits in `ConnectionQueues` until libcurl has room for it.
        case queued
        case running
        case ended
    }

    let request: TransferRequest
    private(set) var sink: any TransferSink
    let loop: EngineLoop
    /// The plan's header lines. libcurl reads them in place.
    var headerList: CurlStringList?
    var stage = Stage.created
    /// The reason to end the transfer, once there is one. It takes precedence over libcurl's result.
    var failure: CurlewError?
    /// Whether there is a `failure`; reading it does not copy the error.
    var hasFailed: Bool { if case .some = failure { true } else { false } }
    var result: TransferResult
    var pauses = TransferPauses()
    /// The handle on which the transfer runs; `nil` before and after.
    private(set) var easy: TransferHandle?

    // SAFETY: unchecked for speed (Docs/Internals/Engine.md); no access spans a call into libcurl or user code.
    @exclusivity(unchecked) var plan: RequestPlan
    @exclusivity(unchecked) var clocks: TransferClocks
    @exclusivity(unchecked) var entries = ContainerEntries()
    /// The index in the engine's heap of deadlines; -1 outside of it.
    var deadlineIndex = -1
    @exclusivity(unchecked) var sending: SendingState
    @exclusivity(unchecked) var response = ResponseState()
    @exclusivity(unchecked) var connection = TransferConnection()

    init(
        request: consuming TransferRequest,
        plan: RequestPlan,
        sink: any TransferSink,
        upload: UploadSource?,
        loop: EngineLoop
    ) {
        self.request = consume request
        self.sink = sink
        self.loop = loop
        headerList = plan.headerList
        sending = SendingState(upload, plan.body)
        clocks = plan.clocks
        let now = Date()
        result = TransferResult(metrics: TransferMetrics(queued: now, ended: now))
        // Assigned last, so that the plan is moved and not copied.
        self.plan = plan
    }

    // MARK: Stages

    var hasEnded: Bool {
        if case .ended = stage { true } else { false }
    }

    func attach(to easy: TransferHandle) {
        self.easy = easy
        stage = .running
    }

    /// Called by `Transfers.enqueueAgain`: the transfer has left its handle, and is enqueued again or waits for
    /// `resume`.
    func reset() {
        easy = nil
        stage = .created
        sending.answer = .send
        connection.reset()
        clocks.reset(isPaused: pauses.isPaused)
    }

    /// Leaves the handle to the byte connection that it has made.
    func detach() { easy = nil }

    func end() {
        if let waker = sending.waker {
            waker.release()
            sending.upload?.close()
        }
        easy = nil
        stage = .ended
        // Breaks a reference cycle: a sink may keep its control, which is this object.
        sink = NoSink.shared
    }

    // MARK: The caller

    /// Runs a transfer that only connects. Cancelling the task cancels it.
    func run() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { start(resuming: $0) }
        } onCancel: {
            cancel(with: CurlewError(.cancelled, phase: .lifecycle))
        }
    }

    /// Starts the transfer on the calling thread if the loop sleeps and lends its turn; otherwise passes it to the
    /// loop. If the loop has ended, the transfer fails at once.
    func start(resuming continuation: UnsafeContinuation<Void, Never>) {
        result.continuation = continuation
        if loop.sendOrCarryOut(.start(self)) { return }
        plan.route?.ended(.undecided)
        result.error = withDetails(.transportShutDown)
        resumeCaller()
    }

    /// Resumes the caller, which owns the transfer from then on.
    func resumeCaller() {
        // Read first: nothing of the transfer may be accessed once the caller may own it.
        let continuation = result.continuation
        // SAFETY: the thread sanitizer gets the address and does not access the object.
        curlew_before(Unmanaged.passUnretained(self).toOpaque())
        continuation?.resume()
    }

    /// The result of the exchange. Call it after the caller was resumed.
    // Never inlined: see `CurlTransport.makeTransfer`.
    @inline(never)
    func outcome() throws(CurlewError) -> TransferOutcome {
        try checkEnd()
        guard let head = exchange(&response.head, with: nil), result.isMeasured else {
            throw makeError(.`internal`, "the exchange ended without a result")
        }
        let trailers = HTTPHeaders(received: response.collector.takeTrailers())
        var outcome = TransferOutcome(head: head, trailers: trailers, metrics: result.metrics)
        if !response.answeredChallenges.isEmpty { outcome.answeredChallenges = response.answeredChallenges }
        return outcome
    }

    /// The byte connection that the transfer has made. Call it after the caller was resumed.
    func byteConnection() throws(CurlewError) -> CurlByteConnection {
        try checkEnd()
        guard let connection = exchange(&result.byteConnection, with: nil) else {
            throw makeError(.`internal`, "the connection is lost")
        }
        return connection
    }

    /// Throws the transfer's error, if it has failed. Call it after the caller was resumed.
    func checkEnd() throws(CurlewError) {
        // SAFETY: as in `resumeCaller`.
        curlew_after(Unmanaged.passUnretained(self).toOpaque())
        if var error = result.error {
            // A transfer that ended in a queue or suspended had no handle to measure it.
            if error.metrics == nil {
                result.metrics.ended = Date()
                error.metrics = result.metrics
            }
            throw error
        }
    }

    func send(_ command: TransferCommand) { loop.send(.command(self, command)) }
}

extension ActiveTransfer: TurnControl {
    func atEndOfTurn(tell observer: any TurnObserver) { response.turnObserver = observer }

    func resumeReceiving() { send(.resumeReceiving) }
    func suspend() { setSuspended(true) }
    func resume() { setSuspended(false) }

    /// A call from within the sink's `willStart` takes effect at once, because a request that is suspended there must
    /// not be sent.
    private func setSuspended(_ isSuspended: Bool) {
        if loop.callerHasTurn, case .created = stage {
            pauses.isSuspended = isSuspended
        } else {
            send(isSuspended ? .suspend : .resume)
        }
    }

    /// A call from within the sink's `willStart` only records the failure: the transfer has not reached libcurl.
    func cancel(with error: CurlewError) {
        if loop.callerHasTurn, case .created = stage {
            cancelBeforeStart(error)
        } else {
            send(.cancel(error))
        }
    }

    /// Records the failure; the transfer ends before it is enqueued.
    func cancelBeforeStart(_ error: CurlewError) { failure = withDetails(cancellation(error)) }
}

/// The entries of a transfer in the engine's containers, so that each finds it without a search.
struct ContainerEntries {
    /// The index in `Transfers`' list of live transfers; -1 outside of it.
    var live = -1
    /// The index in `ConnectingTransfers`, -1 outside of it, and the time of entry.
    var connecting = -1
    var connectingSince = LoopInstant.unset
    /// The queue in which the transfer waits, or is counted while libcurl has it. `ConnectionQueues` sets this and the
    /// next two.
    var queue: ConnectionQueue?
    /// Whether libcurl has the transfer, or gets it in this step. False for byte connections.
    var isInLibcurl = false
    /// Whether it is in libcurl and has no connection yet.
    var waitsInLibcurl = false
    /// The number under which `Handshakes` finds the transfer.
    var handshake: UInt64?
}

/// The result of a transfer, for its caller.
struct TransferResult {
    var continuation: UnsafeContinuation<Void, Never>?
    /// The error that the caller gets instead of a result.
    var error: CurlewError?
    /// The byte connection, once it is up.
    var byteConnection: CurlByteConnection?
    /// Allocated by `perform` and filled in by the loop. Memory that the loop allocates and callers free would make
    /// their threads contend in malloc.
    var metrics: TransferMetrics
    var isMeasured = false
}

/// Replaces the sink of a transfer that has ended, and serves transfers that only connect.
final class NoSink: TransferSink {
    static let shared = NoSink()

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
