internal import CCurl
internal import CurlewCore
internal import Foundation

/// The progress of a transfer's request.
struct SendingState {
    /// The number of times that libcurl has sent the request. Reset by `ActiveTransfer.startOver`.
    var count = 0
    var hasBegun: Bool { count > 0 }
    /// Evidence about the last send: whether the server can have processed it, and whether its connection broke.
    var evidence = DeliveryEvidence()
    /// The number of times that the engine has sent the request again because no server had processed it.
    var restarts = 0
    /// The answer to libcurl's last question whether it may send; `send` before the first.
    var answer = SendAnswer.send
    /// The connection that has refused the transfer last, and how often in a row. See `Transfers.beginExchange`.
    var refusals: (name: ConnectionName?, count: Int32) = (nil, 0)
    /// A final response has refused the body before all of it was sent: the rest is not sent.
    var isBodyRefused = false
    /// The source of a body that is read piece by piece; `nil` for any other request.
    let upload: UploadSource?
    /// Wakes the transfer when its body has more bytes; `nil` unless a stream is open.
    var waker: TransferWaker?
    /// The bytes of a small body, which libcurl reads in place.
    private let fieldBytes: NSData?

    init(_ upload: UploadSource?, _ body: RequestPlan.Body) {
        self.upload = upload
        fieldBytes = if case .fields(let data) = body { NSData(data: data) } else { nil }
    }

    var fields: UnsafeRawBufferPointer? {
        fieldBytes.map { UnsafeRawBufferPointer(start: $0.bytes, count: $0.length) }
    }
}

/// The answer to libcurl's question whether it may send the request. If nothing is sent, libcurl ends the transfer as
/// aborted, and `Transfers.finish` acts on the answer. libcurl before 7.80 never asks.
enum SendAnswer: Equatable {
    case send
    /// Not now: the transfer is suspended, or its connection cannot be used. It is enqueued again; if it is suspended,
    /// once it is resumed.
    case holdBack
    /// Not again: the response that has arrived is the result.
    case keepResponse
    /// The transfer starts over with a changed plan. If its body cannot be rewound, a challenge is the result, and
    /// after any other response the transfer fails.
    case restart(TransferRestart)
    /// Not at all: `ActiveTransfer.failure` has the reason.
    case fail
}

extension ActiveTransfer {
    // MARK: The request

    /// Called when libcurl asks for a resolver or a socket: the wait for a free connection is over.
    func connectionStarted(_ transfers: Transfers) {
        guard case .queue = clocks.stretch else { return }
        transfers.loop.assertOnLoop()
        transfers.lines.remove(self)
        clocks.connectionStarted(at: transfers.now)
        transfers.clockChanged(self)
    }

    /// Answers libcurl whether it may send the request. Called before the first byte of each send, including
    /// repetitions by libcurl. The callback can only make libcurl give the connection up, so the answer is stored for
    /// `Transfers.finish`.
    func mayBeSent(_ transfers: Transfers, over connection: ConnectionName) -> Bool {
        transfers.loop.assertOnLoop()
        transfers.lines.remove(self)
        transfers.sockets.connecting.remove(self)
        guard !hasFailed else { return false }
        transfers.sockets.recordConnection(of: self, named: connection)
        self.connection.name = connection
        sending.answer = answer(transfers, over: connection)
        guard case .send = sending.answer else { return false }
        if plan.prewarms { return stopBeforeSending(transfers) }
        if let interval = transfers.settings.pingInterval {
            transfers.pings.requestGoesOut(at: transfers.now, every: interval)
            transfers.sockets.connections.pingsWritten(to: connection)
        }
        sending.count += 1
        prepareEvidence(transfers)
        goesOut(transfers)
        return true
    }

    /// The first rule that applies decides. The user's evaluator is asked after the rules that need no user code, and
    /// the connection counts only a request that the evaluator accepts.
    private func answer(_ transfers: Transfers, over connection: ConnectionName) -> SendAnswer {
        if sending.count == 0 {
            if pauses.isSuspended || transfers.sockets.hasUnaskedBytes(for: self) { return .holdBack }
        } else {
            let answer = answerToRepetition()
            guard case .send = answer else { return answer }
        }
        if plan.isTLS, !transfers.handshakes.trusts(self, transfers) { return .fail }
        if let limits = transfers.settings.retirement, !transfers.beginExchange(on: connection, for: self, by: limits) {
            return .holdBack
        }
        return .send
    }

    /// Whether libcurl may send the request again: to answer a challenge, without its expectation, or because the
    /// connection broke. The first rule that applies decides.
    func answerToRepetition() -> SendAnswer {
        // libcurl would repeat an expectation that it did not add itself.
        if let restart = restartOfResponse { return .restart(restart) }
        // The sink has its response already, so a repetition (417 with a caller's own Expect) is too late.
        if response.hasHead { return .keepResponse }
        if sending.evidence.asksForCalm {
            failure = refusedForNow
            return .fail
        }
        if isAboutToAuthenticateConnection { return .restart(.alone) }
        // A server may call every nonce stale. Its last challenge becomes the response.
        if hasAnsweredEnough { return .keepResponse }
        // The connection broke after the server may have read the request.
        var isLost = !plan.mayBeResent && !wasAskedToSendAgain && !isUnprocessedRepetition
        // libcurl must not send the request again on a handle on which it has read a body that trailers follow.
        if !isLost, let easy, easy.sendsTrailers, easy.transfers.settings.quirks.sendsTrailersOnce {
            if response.deferredHead != nil { return .keepResponse }
            isLost = true
        }
        guard isLost else { return .send }
        failure = makeError(.receiveFailed, "the connection closed before a response came")
        return .fail
    }

    /// Whether libcurl is about to answer a challenge that offers to authenticate the connection, although other
    /// requests share the connection.
    var isAboutToAuthenticateConnection: Bool {
        guard plan.goesAloneIfOffered, !plan.isAlone, response.deferredHead?.status == 401, let easy else {
            return false
        }
        let offered = UInt(bitPattern: curlew_get_long(easy.handle, CURLINFO_HTTPAUTH_AVAIL))
        return offered & (CurlAuth.negotiate | CurlAuth.ntlm) != 0
    }

    /// Whether the last response is a challenge after as many answers as a handshake may need.
    private var hasAnsweredEnough: Bool {
        switch response.deferredHead?.status {
        case 401: response.challengeCounts.server >= Self.maximumAnsweredChallenges
        case 407: response.challengeCounts.proxy >= Self.maximumAnsweredChallenges
        default: false
        }
    }

    /// NTLM needs two answers, and so does Digest if a nonce has become stale.
    private static let maximumAnsweredChallenges = 3

    /// Whether libcurl repeats the request by itself because no server has processed the last send.
    private var isUnprocessedRepetition: Bool {
        guard let easy else { return false }
        return isUnprocessed || sending.evidence.isRefusedStream(easy)
    }

    /// Whether the last response asks for the same request again: a challenge, or a refused expectation.
    private var wasAskedToSendAgain: Bool {
        switch response.collector.lastStatus {
        case 401, 407, 417: true
        default: false
        }
    }

    /// Called when the beginning of the request has been sent, with a libcurl that does not ask before it sends.
    /// Repetitions by libcurl, also in response to a challenge, are not counted.
    func wasSent(_ transfers: Transfers) {
        guard sending.count == 0, !hasFailed else { return }
        transfers.loop.assertOnLoop()
        transfers.lines.remove(self)
        transfers.sockets.connecting.remove(self)
        transfers.sockets.recordConnection(of: self, named: nil)
        sending.count = 1
        goesOut(transfers)
    }

    /// Prepares the evidence about this send if it may be needed. libcurl reports the fate of a stream and of its
    /// connection in its trace only.
    private func prepareEvidence(_ transfers: Transfers) {
        let settings = transfers.settings
        let mayBeCut = settings.quirks.hidesBrokenConnections && (plan.isTLS || settings.hasPriorKnowledge)
        guard !plan.mayBeResent || sending.count > 1 || mayBeCut, let easy else { return }
        let version = transfers.sockets.version(of: self)
        sending.evidence = DeliveryEvidence(easy, speaksHTTP2: version == .http2, isFirst: sending.count == 1)
        if version == .http2 || (mayBeCut && version == nil) {
            easy.setTrace(easy.trace.union(.work))
        }
    }

    private func goesOut(_ transfers: Transfers) {
        // Earlier responses say nothing about this send.
        response.collector.lastStatus = 0
        if sending.upload == nil {
            clocks.requestSent(at: transfers.now)
        } else {
            clocks.sendingStarted(at: transfers.now)
        }
        transfers.clockChanged(self)
    }
}
