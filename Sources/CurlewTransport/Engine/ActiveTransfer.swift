internal import CCurl
internal import CurlewCore
internal import Foundation

/// A command for a transfer, carried out in the loop's turns.
enum TransferCommand {
    case cancel(CurlewError)
    case suspend
    case resume
    case resumeReceiving
    case wakeBody
}

/// One exchange, from the call of `perform` to its return.
// SAFETY: `perform` creates the transfer and hands it to the loop through the inbox, or borrows the loop's turn. Until
// the continuation is resumed only the thread that has the turn touches the variables, afterwards only `perform`. Other
// threads use `loop` alone, which is constant.
final class ActiveTransfer: @unchecked Sendable, DeadlineHolder {
    enum Stage {
        case created
        /// Suspended before the request was sent. The transfer has no handle.
        case held
        /// Waits in `ConnectionLines` until libcurl has room for it.
        case inLine
        case running
        case ended
    }

    let request: TransferRequest
    // SAFETY: unchecked, here and below, for speed (Docs/Internals/Engine.md); no access spans a call into libcurl or user code.
    @exclusivity(unchecked) var plan: RequestPlan
    private(set) var sink: any TransferSink
    /// The request's own header lines followed by the session's; `nil` if the request has none.
    var ownHeaders: HeaderList?
    var headers: HeaderList? { ownHeaders ?? plan.defaultList }
    let upload: UploadSource?
    let loop: EngineLoop
    /// The send buffer of the byte connection to make; `nil` for an exchange.
    let sendBuffer: Int?
    /// The byte connection, once it is up.
    var connection: CurlByteConnection?

    private var continuation: UnsafeContinuation<Void, Never>?
    /// The error that the caller gets instead of a result.
    var finalError: CurlewError?
    /// Allocated by `perform` and filled in by the loop. Memory that the loop allocates and callers free would make
    /// their threads contend in malloc.
    var metrics: TransferMetrics
    var isMeasured = false
    var stage = Stage.created
    /// The index in `Transfers`' list of live transfers; -1 outside of it.
    var liveIndex = -1
    var deadlineIndex = -1
    /// libcurl has the transfer and may make it wait for a connection. Only `ConnectionLines` sets it.
    var waitsForConnection = false
    var line: ConnectionLine?
    /// The reason to end the transfer, once there is one. It takes precedence over libcurl's result.
    var failure: CurlewError? {
        didSet { hasFailed = failure != nil }
    }
    /// Whether there is a `failure`; reading it does not copy the error.
    private(set) var hasFailed = false
    // SAFETY: as `plan`.
    @exclusivity(unchecked) var clocks: TransferClocks
    var pauses = TransferPauses()
    // SAFETY: as `plan`.
    @exclusivity(unchecked) var collector = HeadCollector()
    var head: ResponseHead?
    /// Whether there is a `head`; reading it does not copy the head.
    var hasHead: Bool { if case .some = head { true } else { false } }
    var coding = BodyCoding.unknown
    /// The sink's observer for the end of the current turn.
    var turnObserver: (any TurnObserver)?
    /// A complete head that libcurl may answer with another request (authentication, Expect).
    var deferredHead: ResponseHead?
    /// The server's challenges (401) that libcurl has answered.
    var answeredChallenges: [ResponseHead] = []
    /// The number of challenges, of the server and of proxies, that libcurl has answered. Reset when the request leaves
    /// a shared connection.
    var challengeCounts = (server: 0, proxy: 0)
    /// The number of times that libcurl has asked a proxy for a tunnel.
    private var tunnelRequests = 0
    /// A final response has refused the body before all of it was sent: the rest is not sent.
    var isUploadMoot = false
    /// Set when libcurl was about to send the request, but the transfer was suspended or its connection unusable.
    var isHeldBack = false
    /// Sockets opened for the transfer, one of which becomes its connection.
    var openedSockets: [Int32] = []
    /// The connection over which the request was last sent.
    var connectionName: ConnectionName?
    /// The transfer's socket while libcurl is not told that it is readable; -1 otherwise.
    var mutedSocket: Int32 = -1
    /// Wakes the transfer when its body has more bytes; `nil` unless a stream is open.
    private var waker: TransferWaker?
    /// libcurl was about to send the request again after its response was delivered. That response is the result.
    var keepsDeliveredResponse = false
    /// The length of the response's body, if the head arrived before all of the request's body was sent, announces a
    /// length, and announces no coding.
    private(set) var expectedBody: Int64?
    var deliveredBody: Int64 = 0
    /// The number of times that libcurl has sent the request. Reset by `goBackToStart`.
    var sends = 0
    var hasSent: Bool { sends > 0 }
    /// Evidence about the last send: whether the server can have processed it, and whether its connection broke.
    var sending = DeliveryEvidence()
    /// The number of times that the engine has sent the request again because no server had processed it.
    var restarts = 0
    /// The index in `ConnectingTransfers`, -1 outside of it, and the time of entry.
    var connectingIndex = -1
    var connectingSince = LoopInstant.unset
    /// errno of a socket that could not be created. Reset when one is opened; from then on only a shortage is recorded.
    var socketError: Int32 = 0
    /// A socket to some address of the host was opened. Its failure says more than that of an address without a socket.
    private(set) var hasOpenedSocket = false
    var refusedAddress: String?
    var wasAskedForCertificate = false
    /// The last TLS alert received on a new connection made for this transfer.
    var tlsAlert: Int32?
    /// The certificate chain that the server presented on a new connection made for this transfer.
    var shownChain: ShownChain?
    /// A TLS handshake has begun on a new connection made for this transfer.
    var isSecuring = false
    /// The number under which `Handshakes` finds the transfer.
    var handshake: UInt64?
    var tlsVersion: String?
    var tlsCipher: String?
    let queued: Date

    init(
        request: consuming TransferRequest,
        plan: RequestPlan,
        sink: any TransferSink,
        upload: UploadSource?,
        loop: EngineLoop,
        sendBuffer: Int? = nil
    ) {
        self.request = consume request
        self.sink = sink
        ownHeaders = plan.ownList
        self.upload = upload
        self.loop = loop
        self.sendBuffer = sendBuffer
        clocks = plan.clocks
        queued = Date()
        metrics = TransferMetrics(queued: queued, ended: queued)
        fieldBytes = if case .fields(let data) = plan.body { NSData(data: data) } else { nil }
        // Assigned last, so that the plan is moved and not copied.
        self.plan = plan
    }

    /// The handle on which the transfer runs; `nil` before and after.
    private(set) var easy: TransferHandle?

    func runs(on easy: TransferHandle) {
        self.easy = easy
        stage = .running
    }

    /// Whether no address of the host got a socket, because the address was refused or the system failed.
    var lacksEverySocket: Bool { !hasOpenedSocket && (refusedAddress != nil || socketError != 0) }

    /// Pass true for `isRemembered` if the connection has to be recognized when it is reused.
    func socketOpened(_ fd: Int32, isRemembered: Bool) {
        hasOpenedSocket = true
        if isRemembered { openedSockets.append(fd) }
        socketError = 0
    }

    func socketFailed(_ code: Int32) {
        if !hasOpenedSocket || SystemError.isShortage(code) { socketError = code }
    }

    /// Discards the failures of the route that the transfer leaves.
    func forgetsObstacles() {
        (refusedAddress, socketError, shownChain, hasOpenedSocket, tlsAlert) = (nil, 0, nil, false, nil)
    }

    /// Counts how often libcurl asks a proxy for a tunnel, and cancels the transfer at the limit. libcurl would answer
    /// thousands of challenges to CONNECT by itself. The cancellation is queued, because the trace callback that calls
    /// this method cannot end a transfer.
    func countTunnelRequest() {
        tunnelRequests += 1
        guard tunnelRequests == Self.mostTunnelRequests else { return }
        var error = makeError(.proxyFailed, "the proxy asks for credentials again and again", phase: .proxy)
        error.responseCode = 407
        send(.cancel(error))
    }

    /// A handshake needs three, and libcurl may make its connection again.
    private static let mostTunnelRequests = 12

    func startsOver() {
        easy = nil
        stage = .created
        isHeldBack = false
        openedSockets = []
        isSecuring = false
        tlsAlert = nil
        tunnelRequests = 0
        clocks.startOver(isHeld: pauses.isHeld)
    }

    /// Opens a streamed body. Only the first call has an effect, however often the transfer is given to libcurl.
    func openBody() {
        guard let upload, upload.isStream, waker == nil else { return }
        let waker = TransferWaker(self)
        self.waker = waker
        upload.open(waker: waker)
    }

    func closeBody() {
        guard let waker else { return }
        waker.letGo()
        upload?.close()
    }

    /// Called when the handle stays with the byte connection that it has made.
    func leavesHandle() { easy = nil }

    func ends() {
        easy = nil
        stage = .ended
    }

    var hasEnded: Bool {
        if case .ended = stage { true } else { false }
    }

    /// Stores the announced length of the response's body, which matters only while the request's body is being sent.
    func expectBody(of head: ResponseHead) {
        guard upload?.hasEnded == false, head.headers["Content-Encoding"] == nil else { return }
        expectedBody = head.headers["Content-Length"].flatMap { Int64($0) }
    }

    /// Whether every byte of the response has arrived, regardless of the rest of the request.
    var hasWholeBody: Bool { expectedBody == deliveredBody && hasHead }

    /// The bytes of a small body, which libcurl reads in place.
    private let fieldBytes: NSData?
    var fields: UnsafeRawBufferPointer? {
        fieldBytes.map { UnsafeRawBufferPointer(start: $0.bytes, count: $0.length) }
    }

    /// Starts the transfer on the calling thread if the loop sleeps and lends its turn; otherwise passes it to the
    /// loop. If the loop has ended, the transfer fails at once.
    func start(resuming continuation: UnsafeContinuation<Void, Never>) {
        self.continuation = continuation
        if loop.sendOrDo(.start(self)) { return }
        finalError = makeError(.sessionClosed, "the transport is shut down", phase: .lifecycle)
        handBack()
    }

    /// Resumes the caller, which owns the transfer from then on.
    func handBack() {
        // SAFETY: the thread sanitizer gets the address and does not access the object.
        curlew_before(Unmanaged.passUnretained(self).toOpaque())
        continuation?.resume()
    }

    /// The result of the exchange. Call it after the transfer was handed back.
    // Never inlined: see `CurlTransport.makeTransfer`.
    @inline(never)
    func outcome() throws(CurlewError) -> TransferOutcome {
        try checkEnd()
        guard let head = exchange(&head, with: nil), isMeasured else {
            throw makeError(.`internal`, "the exchange ended without a result")
        }
        let trailers = HTTPHeaders(received: collector.takeTrailers())
        if answeredChallenges.isEmpty { return TransferOutcome(head: head, trailers: trailers, metrics: metrics) }
        var outcome = TransferOutcome(head: head, trailers: trailers, metrics: metrics)
        outcome.answeredChallenges = answeredChallenges
        return outcome
    }

    /// The byte connection that the transfer has made. Call it after the transfer was handed back.
    func madeConnection() throws(CurlewError) -> CurlByteConnection {
        try checkEnd()
        guard let connection = exchange(&connection, with: nil) else {
            throw makeError(.`internal`, "the connection is lost")
        }
        return connection
    }

    private func checkEnd() throws(CurlewError) {
        // SAFETY: as in `handBack`.
        curlew_after(Unmanaged.passUnretained(self).toOpaque())
        if var finalError {
            // A transfer that ended in line or suspended had no handle to measure it.
            if finalError.metrics == nil {
                metrics.ended = Date()
                finalError.metrics = metrics
            }
            throw finalError
        }
    }

    /// Breaks a reference cycle: a sink may keep its control, which is this object.
    func letGoOfSink() { sink = NoSink.shared }

    func send(_ command: TransferCommand) { loop.send(.command(self, command)) }
}

extension ActiveTransfer: TurnControl {
    func atEndOfTurn(tell observer: any TurnObserver) { turnObserver = observer }

    func resumeReceiving() { send(.resumeReceiving) }
    func suspend() { hold(true) }
    func resume() { hold(false) }

    /// A call from within the sink's `willStart` takes effect at once, because a request that is suspended there must
    /// not be sent.
    private func hold(_ isSuspended: Bool) {
        if loop.identity.isCurrent, case .created = stage {
            pauses.isSuspended = isSuspended
        } else {
            send(isSuspended ? .suspend : .resume)
        }
    }

    /// A call from within the sink's `willStart` takes effect at once, as with `suspend`.
    func cancel(with error: CurlewError) {
        if loop.identity.isCurrent, case .created = stage { cancelsBeforeStart(error) } else { send(.cancel(error)) }
    }

    /// Records the failure; the transfer ends before it is launched.
    func cancelsBeforeStart(_ error: CurlewError) { failure = completed(cancellation(error)) }
}

/// Replaces the sink of a transfer that has ended, and serves transfers that only connect.
final class NoSink: TransferSink {
    static let shared = NoSink()

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
