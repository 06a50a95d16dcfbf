internal import CCurl
internal import CurlewCore
internal import Foundation

/// The progress of a transfer's request.
struct SendingState {
    /// The number of times that libcurl has sent the request. Reset by `ActiveTransfer.goBackToStart`.
    var count = 0
    var hasBegun: Bool { count > 0 }
    /// Evidence about the last send: whether the server can have processed it, and whether its connection broke.
    var evidence = DeliveryEvidence()
    /// The number of times that the engine has sent the request again because no server had processed it.
    var restarts = 0
    /// Set when libcurl was about to send the request, but the transfer was suspended or its connection unusable.
    var isHeldBack = false
    /// The socket of the connection that has refused the transfer last, and how often in a row. See
    /// `Transfers.beginExchange`.
    var refusals: (socket: Int32, count: Int32) = (-1, 0)
    /// A final response has refused the body before all of it was sent: the rest is not sent.
    var isMoot = false
    /// The source of a body that is read piece by piece; `nil` for any other request.
    let upload: UploadSource?
    /// Wakes the transfer when its body has more bytes; `nil` unless a stream is open.
    fileprivate var waker: TransferWaker?
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

extension ActiveTransfer {
    // MARK: The request

    /// Called when libcurl asks for a resolver or a socket: the wait for a free connection is over.
    func connectionStarted(_ transfers: Transfers) {
        guard case .queue = clocks.stretch else { return }
        transfers.hasLeftLine(self)
        clocks.connectionStarted(at: transfers.now)
        transfers.clockChanged(self)
    }

    /// Decides whether libcurl may send the request. Called before the first byte of each send, including repetitions
    /// by libcurl.
    func mayBeSent(_ transfers: Transfers, over connection: ConnectionName) -> Bool {
        transfers.hasLeftLine(self)
        transfers.sockets.connecting.remove(self)
        guard !hasFailed else { return false }
        transfers.sockets.recordConnection(of: self, named: connection)
        self.connection.name = connection
        if sending.count == 0, pauses.isSuspended || transfers.sockets.hasUnaskedBytes(for: self) {
            // The callback can only make libcurl give the connection up. `Transfers.finish` then holds the transfer
            // back.
            sending.isHeldBack = true
            return false
        }
        // libcurl would repeat an expectation that it did not add itself. `Transfers.finish` sends the request without
        // it.
        if sending.count > 0, isRefusedExpectation { return false }
        if sending.count > 0, response.hasHead {
            // The sink has its response already, so a repetition (417 with a caller's own Expect) is too late.
            response.isKept = true
            return false
        }
        if sending.count > 0, sending.evidence.asksForCalm {
            failure = refusedForNow
            return false
        }
        // A server may call every nonce stale. Its last challenge becomes the response.
        if sending.count > 0, hasAnsweredEnough { return false }
        // Other requests share the connection. `Transfers.finish` gives this one a separate connection.
        if sending.count > 0, isAboutToAuthenticateConnection { return false }
        if sending.count > 0, !plan.mayBeResent, !wasAskedToSendAgain, !isUnprocessedRepetition {
            // The connection broke after the server may have read the request.
            failure = makeError(.receiveFailed, "the connection closed before a response came")
            failure?.isSafeToRetry = false
            return false
        }
        if sending.count > 0, cannotRepeatTrailers {
            if response.deferredHead == nil {
                failure = makeError(.receiveFailed, "the connection closed before a response came")
            }
            return false
        }
        if plan.isTLS, !transfers.handshakes.trusts(self, transfers) { return false }
        if let limits = transfers.settings.retirement, !transfers.beginExchange(on: connection, for: self, by: limits) {
            sending.isHeldBack = true
            return false
        }
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

    /// Called when the beginning of the request has been sent, with a libcurl that does not ask before it sends.
    /// Repetitions by libcurl, also in response to a challenge, are not counted.
    func wasSent(_ transfers: Transfers) {
        guard sending.count == 0, !hasFailed else { return }
        transfers.hasLeftLine(self)
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
        response.collector.requestGoesOut()
        if sending.upload == nil {
            clocks.requestSent(at: transfers.now)
        } else {
            clocks.sendingStarted(at: transfers.now)
        }
        transfers.clockChanged(self)
    }

    /// Whether the response is a 417 after which the request is sent again without its expectation (RFC 9110, 10.1.1).
    /// libcurl does so, too, but only if the server leaves the connection open.
    var isRefusedExpectation: Bool {
        response.deferredHead?.status == 417 && plan.sendsExpect && sending.upload?.canStartAgain ?? true
    }

    /// Resets the transfer to send it again without its expectation. Returns false if the body cannot be rewound.
    func leaveOutExpectation() -> Bool {
        guard goBackToStart() else { return false }
        plan.leaveOutExpect()
        headers = plan.list
        return true
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

    /// Resets the transfer to send it again over a separate connection. Returns false if the body cannot be rewound.
    func leaveSharedConnection(_ transfers: Transfers) -> Bool {
        guard goBackToStart() else { return false }
        response.challengeCounts = (0, 0)
        plan.goAlone(transfers.settings.httpVersion)
        return true
    }

    /// Resets the transfer to its state before it was sent. Returns false if the body cannot be rewound.
    func goBackToStart() -> Bool {
        guard sending.upload?.seek(to: 0) ?? true else { return false }
        response.deferredHead = nil
        response.collector = HeadCollector()
        sending.count = 0
        sending.evidence = DeliveryEvidence()
        pauses.applied = 0
        // The source is read from its start again, so it owes no wake-up for its former position.
        pauses.sourcePending = false
        return true
    }

    /// Whether the last response is a challenge after as many answers as a handshake may need.
    var hasAnsweredEnough: Bool {
        switch response.deferredHead?.status {
        case 401: response.challengeCounts.server >= Self.mostAnsweredChallenges
        case 407: response.challengeCounts.proxy >= Self.mostAnsweredChallenges
        default: false
        }
    }

    /// NTLM needs two answers, and so does Digest if a nonce has become stale.
    private static let mostAnsweredChallenges = 3

    /// libcurl's own limit for retries of a refused stream.
    static let mostRestarts = 5

    /// Resets a failed transfer to send it again if no server has processed it: no byte of it was sent, or HTTP/2 says
    /// so (RFC 9113, 8.7). Returns false if the server asked for fewer requests, because only a retrier waits before it
    /// tries again.
    func startAgain(after result: CURLcode) -> Bool {
        guard result != CURLE_OK, sending.hasBegun, !response.hasHead, response.deferredHead == nil,
            sending.restarts < Self.mostRestarts
        else { return false }
        // libcurl's own attempts count as well: from 8.1 on it has retried a refused stream as often itself.
        let attempts = sending.count
        guard isUnprocessed, !sending.evidence.asksForCalm, sending.restarts + attempts <= Self.mostRestarts,
            goBackToStart()
        else {
            return false
        }
        sending.restarts += attempts
        return true
    }

    /// Whether the last send can be repeated because no server can have processed it. False if the body cannot be read
    /// again.
    var isUnprocessed: Bool {
        guard let easy, sending.upload?.canStartAgain ?? true else { return false }
        return sending.hasBegun && (sending.evidence.isAboveGoAway || sending.evidence.isUnsent(easy))
    }

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

    // MARK: The body

    /// Opens a streamed body. Only the first call has an effect, however often the transfer is given to libcurl.
    func openBody() {
        guard let upload = sending.upload, upload.isStream, sending.waker == nil else { return }
        let waker = TransferWaker(self)
        sending.waker = waker
        upload.open(waker: waker)
    }

    func closeBody() {
        guard let waker = sending.waker else { return }
        waker.release()
        sending.upload?.close()
    }

    /// Fills libcurl's buffer with the next bytes of the body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ transfers: Transfers) -> UploadSource.Chunk {
        guard !hasFailed, let upload = sending.upload, buffer.count > 0 else {
            return .failed(makeError(.bodyUnavailable, "no body"))
        }
        // A libcurl that fails short bodies gets nothing more until the response ends the exchange. Others accept an
        // early end.
        if sending.isMoot { return transfers.settings.quirks.failsShortBodies ? .pending : .end }
        if pauses.sourcePending { bodyIsReadAgain(transfers) }
        if pauses.isSuspended || transfers.sockets.sendingWaitsForReader(self) { return holdSending(transfers) }
        let chunk = upload.read(into: buffer)
        switch chunk {
        case .bytes(let count):
            clocks.byteMoved(at: transfers.now)
            sink.didSend(bodyBytes: upload.position, of: upload.length)
            if upload.hasEnded, count > 0 { bodyEnded(transfers) }
        case .end: bodyEnded(transfers)
        case .pending:
            pauses.sourcePending = true
            return holdSending(transfers)
        case .failed(let error):
            failure = completed(error)
        }
        return chunk
    }

    /// Returns the trailer lines behind a body that has ended. `nil` if the transfer has to end.
    func trailerLines() -> [String]? {
        guard !hasFailed else { return nil }
        // The response has refused the rest of the body, so this is not its end.
        guard !sending.isMoot, let trailers = request.trailers else { return [] }
        do throws(CurlewError) {
            return try trailers.fields().map { "\($0.name): \($0.value)" }
        } catch {
            failure = completed(error)
            return nil
        }
    }

    /// Whether libcurl must not send the request again on its handle, because trailers follow the body that it has
    /// read there (`LibcurlQuirks.sendsTrailersOnce`).
    var cannotRepeatTrailers: Bool {
        guard let easy, easy.sendsTrailers else { return false }
        return easy.transfers.settings.quirks.sendsTrailersOnce
    }

    /// Called when libcurl has rewound a pending body by itself, for another connection or a challenge. The source owes
    /// no wake-up for its former position.
    private func bodyIsReadAgain(_ transfers: Transfers) {
        pauses.sourcePending = false
        guard !pauses.isHeld else { return }
        clocks.released(at: transfers.now)
        transfers.clockChanged(self)
    }

    private func holdSending(_ transfers: Transfers) -> UploadSource.Chunk {
        pauses.applied |= CURLPAUSE_SEND
        clocks.held(at: transfers.now)
        return .pending
    }

    private func bodyEnded(_ transfers: Transfers) {
        guard case .send = clocks.stretch else { return }
        clocks.requestSent(at: transfers.now)
        transfers.clockChanged(self)
    }

    /// Reports the bytes of a small body, which libcurl sends with the head and without the read callback. Called when
    /// the response's head has arrived.
    func reportSmallBody() {
        guard case .fields(let data) = plan.body, !data.isEmpty else { return }
        sink.didSend(bodyBytes: Int64(data.count), of: Int64(data.count))
    }
}
