internal import CCurl
internal import CurlewCore
internal import Foundation

/// What a transfer's owner can ask of it while it runs.
enum TransferCommand {
    case cancel(CurlewError)
    case suspend
    case resume
    case resumeReceiving
    case wakeBody
}

/// One exchange from `perform` to its return.
// SAFETY: `perform` makes it and hands it to the loop through the inbox, or borrows the loop's turn; the thread that has
// the turn alone touches its variables until the continuation is resumed, `perform` alone afterwards. Other
// threads use `loop` only, which is constant.
final class ActiveTransfer: @unchecked Sendable, DeadlineHolder {
    enum Stage {
        case created
        /// Suspended before it began.
        case held
        /// Others of its origin are before it.
        case inLine
        case running
        case ended
    }

    let request: TransferRequest
    // SAFETY: unchecked, here and below, because the checks of these three are 1 % of a session's instructions. No
    // access lasts while libcurl or foreign code runs.
    @exclusivity(unchecked) var plan: RequestPlan
    private(set) var sink: any TransferSink
    /// The request's own lines with the session's behind them; nil where it has none of its own.
    var ownHeaders: HeaderList?
    var headers: HeaderList? { ownHeaders ?? plan.defaultList }
    let upload: UploadSource?
    let loop: EngineLoop
    /// How much the connection that is made may have to send; nil for an exchange.
    let sendBuffer: Int?
    /// The connection, once it is up.
    var connection: CurlByteConnection?

    private var continuation: UnsafeContinuation<Void, Never>?
    /// Why there is no result.
    var finalError: CurlewError?
    /// Made by `perform` and filled by the loop: what the loop allocates and others free would have them wait for each
    /// other in malloc.
    var metrics: TransferMetrics
    var isMeasured = false
    var stage = Stage.created
    /// Where in `Transfers`' list of live ones.
    var liveIndex = -1
    var deadlineIndex = -1
    /// Within libcurl, where it may have to wait for a connection; only ConnectionLines writes it.
    var waitsForConnection = false
    var line: ConnectionLine?
    /// What ends the transfer, once something has: it wins over whatever libcurl then says.
    var failure: CurlewError? {
        didSet { hasFailed = failure != nil }
    }
    /// The same question without a copy of the error.
    private(set) var hasFailed = false
    // SAFETY: as `plan`.
    @exclusivity(unchecked) var clocks: TransferClocks
    var pauses = TransferPauses()
    // SAFETY: as `plan`.
    @exclusivity(unchecked) var collector = HeadCollector()
    var head: ResponseHead?
    /// The same without a copy of it, as below.
    var hasHead: Bool { if case .some = head { true } else { false } }
    var coding = BodyCoding.unknown
    /// What its sink wants told of the end of the present turn.
    var turnObserver: (any TurnObserver)?
    /// A complete head that may yet be answered by another request (authentication, Expect).
    var deferredHead: ResponseHead?
    /// Challenges that libcurl has answered.
    var answeredChallenges: [ResponseHead] = []
    /// How many challenges of the server and of a proxy were answered on the connections that the request has had.
    var challengeCounts = (server: 0, proxy: 0)
    /// How often a proxy was asked for a tunnel.
    private var tunnelRequests = 0
    /// A final response came before the body was sent, and refuses it: nothing more of it goes out.
    var isUploadMoot = false
    /// It was suspended when libcurl was about to send it, or its connection is of no use.
    var isHeldBack = false
    /// Those that it has opened, one of which becomes its connection.
    var openedSockets: [Int32] = []
    /// The connection that the request was last sent over.
    var connectionName: ConnectionName?
    /// Its connection, while libcurl is not told that there is something to read; -1 otherwise.
    var mutedSocket: Int32 = -1
    /// The open body's, where it is a stream.
    private var waker: TransferWaker?
    /// libcurl was about to send again what must not be: the response that was delivered is the result.
    var keepsDeliveredResponse = false
    /// Bytes of the response's body where the head tells, and they arrive as they are.
    private(set) var expectedBody: Int64?
    var deliveredBody: Int64 = 0
    /// How often libcurl was about to send.
    var sends = 0
    var hasSent: Bool { sends > 0 }
    /// What became of the last sending, for requests that must not be carried out twice.
    var sending = DeliveryEvidence()
    /// How often the engine has sent it again because no server had processed it.
    var restarts = 0
    /// Where in `ConnectingTransfers`, and since when.
    var connectingIndex = -1
    var connectingSince = LoopInstant.unset
    /// errno of the socket that could not be made, where nothing better tells why there is no connection.
    var socketError: Int32 = 0
    /// One to some address of the host was made: what became of it says more than what another address lacks.
    private(set) var hasOpenedSocket = false
    var refusedAddress: String?
    var wasAskedForCertificate = false
    /// The last TLS alert that came over the transfer's own new connection.
    var tlsAlert: Int32?
    /// What the server showed in the handshake of the transfer's own new connection.
    var shownChain: ShownChain?
    /// A TLS handshake has begun on the transfer's own new connection.
    var isSecuring = false
    /// The number by which a handshake on its handle finds it.
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
        // Last: moved, not copied.
        self.plan = plan
    }

    /// The handle that it runs on, while it does.
    private(set) var easy: TransferHandle?

    func runs(on easy: TransferHandle) {
        self.easy = easy
        stage = .running
    }

    /// No address of the host got as far as a connection attempt.
    var lacksEverySocket: Bool { !hasOpenedSocket && (refusedAddress != nil || socketError != 0) }

    /// `isRemembered`: the connection has to be known when it is used again.
    func socketOpened(_ fd: Int32, isRemembered: Bool) {
        hasOpenedSocket = true
        if isRemembered { openedSockets.append(fd) }
        socketError = 0
    }

    func socketFailed(_ code: Int32) {
        if !hasOpenedSocket || SystemError.isShortage(code) { socketError = code }
    }

    /// What stopped it on a way that it leaves.
    func forgetsObstacles() {
        (refusedAddress, socketError, shownChain, hasOpenedSocket, tlsAlert) = (nil, 0, nil, false, nil)
    }

    /// Counts how often libcurl asks a proxy for a tunnel, and cancels the transfer at the limit. libcurl answers each
    /// challenge to CONNECT by itself, some thousand times, and its callback for the trace cannot end a transfer.
    func countTunnelRequest() {
        tunnelRequests += 1
        guard tunnelRequests == Self.mostTunnelRequests else { return }
        var error = makeError(.proxyFailed, "the proxy asks for credentials again and again", phase: .proxy)
        error.responseCode = 407
        send(.cancel(error))
    }

    /// A handshake needs three, and libcurl may make its connection anew.
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

    /// Once, however often the transfer is given to libcurl.
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

    /// Its handle stays with the connection that it has made.
    func leavesHandle() { easy = nil }

    func ends() {
        easy = nil
        stage = .ended
    }

    var hasEnded: Bool {
        if case .ended = stage { true } else { false }
    }

    /// Notes how much is to come; only of interest while a body still goes out.
    func expectBody(of head: ResponseHead) {
        guard upload?.hasEnded == false, head.headers["Content-Encoding"] == nil else { return }
        expectedBody = head.headers["Content-Length"].flatMap { Int64($0) }
    }

    /// Every byte of the response is here, whatever becomes of the rest of the request.
    var hasWholeBody: Bool { expectedBody == deliveredBody && hasHead }

    /// A small body's bytes, where they lie.
    private let fieldBytes: NSData?
    var fields: UnsafeRawBufferPointer? {
        fieldBytes.map { UnsafeRawBufferPointer(start: $0.bytes, count: $0.length) }
    }

    /// Gives the transfer to the loop, or starts it here while the loop sleeps. A loop that has ended takes nothing: the
    /// transfer ends here.
    func start(resuming continuation: UnsafeContinuation<Void, Never>) {
        self.continuation = continuation
        if loop.sendOrDo(.start(self)) { return }
        finalError = makeError(.sessionClosed, "the transport is shut down", phase: .lifecycle)
        handBack()
    }

    /// From here on the transfer is its caller's.
    func handBack() {
        // SAFETY: only the address is of interest.
        curlew_before(Unmanaged.passUnretained(self).toOpaque())
        continuation?.resume()
    }

    /// What became of it, once it was resumed.
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

    /// The connection that it has made, once it was resumed.
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
            // It may have ended before it had a handle that measures: in line, or held.
            if finalError.metrics == nil {
                metrics.ended = Date()
                finalError.metrics = metrics
            }
            throw finalError
        }
    }

    /// A sink may keep its control, which is this object: without letting go here both would stay for ever.
    func letGoOfSink() { sink = NoSink.shared }

    func send(_ command: TransferCommand) { loop.send(.command(self, command)) }
}

extension ActiveTransfer: TurnControl {
    func atEndOfTurn(tell observer: any TurnObserver) { turnObserver = observer }

    func resumeReceiving() { send(.resumeReceiving) }
    func suspend() { hold(true) }
    func resume() { hold(false) }

    /// From within the sink's `willStart` it counts at once: a request held there must not go out.
    private func hold(_ isSuspended: Bool) {
        if loop.identity.isCurrent, case .created = stage {
            pauses.isSuspended = isSuspended
        } else {
            send(isSuspended ? .suspend : .resume)
        }
    }

    /// From within the sink's `willStart` it counts at once, too.
    func cancel(with error: CurlewError) {
        if loop.identity.isCurrent, case .created = stage { cancelsBeforeStart(error) } else { send(.cancel(error)) }
    }

    /// The transfer ends before it is launched.
    func cancelsBeforeStart(_ error: CurlewError) { failure = completed(cancellation(error)) }
}

/// Stands where a transfer's sink was.
final class NoSink: TransferSink {
    static let shared = NoSink()

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
