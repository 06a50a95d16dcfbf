internal import CCurl
internal import CurlewCore

extension ActiveTransfer {
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
        transfers.sockets.hasConnected(self)
        guard !hasFailed else { return false }
        transfers.sockets.remember(self, on: connection)
        self.connectionName = connection
        if sends == 0, pauses.isSuspended || transfers.sockets.hasUnaskedBytes(for: self, on: connection) {
            // The callback can only make libcurl give the connection up. `Transfers.finish` then holds the transfer
            // back.
            isHeldBack = true
            return false
        }
        // libcurl would repeat an expectation that it did not add itself. `Transfers.finish` sends the request without
        // it.
        if sends > 0, isRefusedExpectation { return false }
        if sends > 0, hasHead {
            // The sink has its response already, so a repetition (417 with a caller's own Expect) is too late.
            keepsDeliveredResponse = true
            return false
        }
        if sends > 0, sending.asksForCalm {
            failure = refusedForNow
            return false
        }
        // A server may call every nonce stale. Its last challenge becomes the response.
        if sends > 0, hasAnsweredEnough { return false }
        // Other requests share the connection. `Transfers.finish` gives this one a separate connection.
        if sends > 0, isAboutToAuthenticateConnection { return false }
        if sends > 0, !plan.mayBeResent, !wasAskedToSendAgain, !isUnprocessedRepetition {
            // The connection broke after the server may have read the request.
            failure = makeError(.receiveFailed, "the connection closed before a response came")
            failure?.isSafeToRetry = false
            return false
        }
        if plan.isTLS, !transfers.handshakes.trusts(self, transfers) { return false }
        sends += 1
        watch(transfers.settings)
        goesOut(transfers)
        return true
    }

    /// Called when the beginning of the request has been sent, with a libcurl that does not ask before it sends.
    /// Repetitions by libcurl, also in response to a challenge, are not counted.
    func wasSent(_ transfers: Transfers) {
        guard sends == 0, !hasFailed else { return }
        transfers.hasLeftLine(self)
        transfers.sockets.hasConnected(self)
        sends = 1
        goesOut(transfers)
    }

    /// Prepares the evidence about this send if it may be needed. libcurl reports the fate of a stream and of its
    /// connection in its trace only.
    private func watch(_ settings: EngineSettings) {
        let mayBeCut = settings.quirks.hidesBrokenConnections && (plan.isTLS || settings.hasPriorKnowledge)
        guard !plan.mayBeResent || sends > 1 || mayBeCut, let easy else { return }
        sending = DeliveryEvidence(easy, isTLS: plan.isTLS, isFirst: sends == 1)
        // Only with OpenSSL it is known here which protocol TLS has negotiated.
        if sending.speaksHTTP2 || (mayBeCut && !settings.usesOpenSSL) { easy.traces = true }
    }

    private func goesOut(_ transfers: Transfers) {
        collector.requestGoesOut()
        if upload == nil {
            clocks.requestSent(at: transfers.now)
        } else {
            clocks.sendingStarted(at: transfers.now)
        }
        transfers.clockChanged(self)
    }

    /// Whether the response is a 417 after which the request is sent again without its expectation (RFC 9110, 10.1.1).
    /// libcurl does so, too, but only if the server leaves the connection open.
    var isRefusedExpectation: Bool {
        deferredHead?.status == 417 && plan.sendsExpect && upload?.canStartAgain ?? true
    }

    /// Resets the transfer to send it again without its expectation. Returns false if the body cannot be rewound.
    func leaveOutExpectation() -> Bool {
        guard goBackToStart() else { return false }
        plan.leaveOutExpect()
        ownHeaders = plan.ownList
        return true
    }

    /// Whether libcurl is about to answer a challenge that offers to authenticate the connection, although other
    /// requests share the connection.
    var isAboutToAuthenticateConnection: Bool {
        guard plan.goesAloneIfOffered, !plan.isAlone, deferredHead?.status == 401, let easy else { return false }
        let offered = UInt(bitPattern: curlew_get_long(easy.handle, CURLINFO_HTTPAUTH_AVAIL))
        return offered & (CurlAuth.negotiate | CurlAuth.ntlm) != 0
    }

    /// Resets the transfer to send it again over a separate connection. Returns false if the body cannot be rewound.
    func leaveSharedConnection(_ transfers: Transfers) -> Bool {
        guard goBackToStart() else { return false }
        challengeCounts = (0, 0)
        plan.goAlone(transfers.settings.httpVersion)
        return true
    }

    /// Resets the transfer to its state before it was sent. Returns false if the body cannot be rewound.
    func goBackToStart() -> Bool {
        guard upload?.seek(to: 0) ?? true else { return false }
        deferredHead = nil
        collector = HeadCollector()
        sends = 0
        sending = DeliveryEvidence()
        pauses.applied = 0
        // The source is read from its start again, so it owes no wake-up for its former position.
        pauses.sourcePending = false
        return true
    }

    /// Whether the last response is a challenge after as many answers as a handshake may need.
    var hasAnsweredEnough: Bool {
        switch deferredHead?.status {
        case 401: challengeCounts.server >= Self.mostAnsweredChallenges
        case 407: challengeCounts.proxy >= Self.mostAnsweredChallenges
        default: false
        }
    }

    /// NTLM needs two answers, and so does Digest if a nonce has become stale.
    private static let mostAnsweredChallenges = 3

    /// libcurl's own limit for retries of a refused stream.
    private static let mostRestarts = 5

    /// Resets a failed transfer to send it again if no server has processed it: no byte of it was sent, or HTTP/2 says
    /// so (RFC 9113, 8.7). Returns false if the server asked for fewer requests, because only a retrier waits before it
    /// tries again.
    func startAgain(after result: CURLcode) -> Bool {
        guard result != CURLE_OK, hasSent, !hasFailed, !hasHead, deferredHead == nil, restarts < Self.mostRestarts
        else { return false }
        // libcurl's own attempts count as well: from 8.1 on it has retried a refused stream as often itself.
        let attempts = sends
        guard isUnprocessed, !sending.asksForCalm, restarts + attempts <= Self.mostRestarts, goBackToStart() else {
            return false
        }
        restarts += attempts
        return true
    }

    /// Whether the last send can be repeated because no server can have processed it. False if the body cannot be read
    /// again.
    var isUnprocessed: Bool {
        guard let easy, upload?.canStartAgain ?? true else { return false }
        return hasSent && (sending.isAboveGoAway || sending.isUnsent(easy))
    }

    /// Whether libcurl repeats the request by itself because no server has processed the last send.
    private var isUnprocessedRepetition: Bool {
        guard let easy else { return false }
        return isUnprocessed || sending.isRefusedStream(easy)
    }

    /// Whether the last response asks for the same request again: a challenge, or a refused expectation.
    private var wasAskedToSendAgain: Bool {
        switch collector.lastStatus {
        case 401, 407, 417: true
        default: false
        }
    }

    /// Fills libcurl's buffer with the next bytes of the body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ transfers: Transfers) -> UploadSource.Chunk {
        guard !hasFailed, let upload, buffer.count > 0 else {
            return .failed(makeError(.bodyUnavailable, "no body"))
        }
        // A libcurl that fails short bodies gets nothing more until the response ends the exchange. Others accept an
        // early end.
        if isUploadMoot { return transfers.settings.quirks.failsShortBodies ? .pending : .end }
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
