internal import CCurl
internal import CurlewCore

extension ActiveTransfer {
    /// A resolver or a socket was asked for: the wait for a connection is over.
    func connectionStarted(_ transfers: Transfers) {
        guard case .queue = clocks.stretch else { return }
        transfers.hasLeftLine(self)
        clocks.connectionStarted(at: transfers.now)
        transfers.clockChanged(self)
    }

    /// Asked before the first byte of the request goes out, also when libcurl sends it again.
    func mayBeSent(_ transfers: Transfers, over connection: ConnectionName) -> Bool {
        transfers.hasLeftLine(self)
        transfers.sockets.hasConnected(self)
        guard !hasFailed else { return false }
        transfers.sockets.remember(self, on: connection)
        self.connectionName = connection
        if sends == 0, pauses.isSuspended || transfers.sockets.hasUnaskedBytes(for: self, on: connection) {
            // Here libcurl can only be told to give the connection up.
            isHeldBack = true
            return false
        }
        // libcurl would repeat an expectation that it did not add itself; `finish` sees to it.
        if sends > 0, isRefusedExpectation { return false }
        if sends > 0, hasHead {
            // The sink has its response already: a repetition (417 with a caller's own Expect) comes too late.
            keepsDeliveredResponse = true
            return false
        }
        if sends > 0, sending.asksForCalm {
            failure = refusedForNow
            return false
        }
        // A server may call every nonce stale. Its last challenge is the answer.
        if sends > 0, hasAnsweredEnough { return false }
        // The connection is others', too: `finish` gives the request one of its own.
        if sends > 0, isAboutToAuthenticateConnection { return false }
        if sends > 0, !plan.mayBeResent, !wasAskedToSendAgain, !isUnprocessedRepetition {
            // The connection broke after the server may have read it.
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

    /// For a libcurl that does not ask before: the beginning of the request has gone out. What it sends again by itself, or as the
    /// answer to a challenge, counts as the same.
    func wasSent(_ transfers: Transfers) {
        guard sends == 0, !hasFailed else { return }
        transfers.hasLeftLine(self)
        transfers.sockets.hasConnected(self)
        sends = 1
        goesOut(transfers)
    }

    /// libcurl tells what becomes of a stream, and of its connection, in its trace alone.
    private func watch(_ settings: EngineSettings) {
        let mayBeCut = settings.libcurlHidesBrokenConnections && (plan.isTLS || settings.hasPriorKnowledge)
        guard !plan.mayBeResent || sends > 1 || mayBeCut, let easy else { return }
        sending = DeliveryEvidence(easy, isTLS: plan.isTLS, isFirst: sends == 1)
        // Only OpenSSL tells here what TLS has agreed on.
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

    /// Whether the response is a 417 after which the request goes out again without its expectation
    /// (RFC 9110, 10.1.1). libcurl does that too, but only where the server leaves the connection open.
    var isRefusedExpectation: Bool {
        deferredHead?.status == 417 && plan.sendsExpect && upload?.canStartAgain ?? true
    }

    /// Makes the transfer as it was before it was sent, but for the expectation. False where the body is gone.
    func leaveOutExpectation() -> Bool {
        guard goBackToStart() else { return false }
        plan.leaveOutExpect()
        ownHeaders = plan.ownList
        return true
    }

    /// Whether libcurl is about to answer a challenge that offers to authenticate the connection, which is not the request's own.
    var isAboutToAuthenticateConnection: Bool {
        guard plan.goesAloneIfOffered, !plan.isAlone, deferredHead?.status == 401, let easy else { return false }
        let offered = UInt(bitPattern: curlew_get_long(easy.handle, CURLINFO_HTTPAUTH_AVAIL))
        return offered & (CurlAuth.negotiate | CurlAuth.ntlm) != 0
    }

    /// Makes the transfer as it was before it was sent, for a connection of its own. False where the body is gone.
    func leaveSharedConnection(_ transfers: Transfers) -> Bool {
        guard goBackToStart() else { return false }
        challengeCounts = (0, 0)
        plan.goAlone(transfers.settings.httpVersion)
        return true
    }

    /// Makes the transfer as it was before it was sent. False where the body is gone.
    func goBackToStart() -> Bool {
        guard upload?.seek(to: 0) ?? true else { return false }
        deferredHead = nil
        collector = HeadCollector()
        sends = 0
        sending = DeliveryEvidence()
        pauses.applied = 0
        // A body from its start owes no wake-up for what it had not at its end.
        pauses.sourcePending = false
        return true
    }

    /// Whether the last response is a challenge, after as many that were answered as a handshake may need.
    var hasAnsweredEnough: Bool {
        switch deferredHead?.status {
        case 401: challengeCounts.server >= Self.mostAnsweredChallenges
        case 407: challengeCounts.proxy >= Self.mostAnsweredChallenges
        default: false
        }
    }

    /// NTLM needs two, Digest two where a nonce has become stale.
    private static let mostAnsweredChallenges = 3

    /// As libcurl, which tries a refused stream as often.
    private static let mostRestarts = 5

    /// Makes a transfer that failed as it was before it was sent, where no server has processed it: nothing of it was
    /// taken, or HTTP/2 says so (RFC 9113, 8.7). A server that broke a rule would break it again, so it is for a retrier to wait.
    func startAgain(after result: CURLcode) -> Bool {
        guard result != CURLE_OK, hasSent, !hasFailed, !hasHead, deferredHead == nil, restarts < Self.mostRestarts
        else { return false }
        // libcurl's own attempts count: from 8.1 on it has tried a refused one as often itself.
        let attempts = sends
        guard isUnprocessed, !sending.asksForCalm, restarts + attempts <= Self.mostRestarts, goBackToStart() else {
            return false
        }
        restarts += attempts
        return true
    }

    /// Whether no server can have carried out what was sent last. A body that cannot be sent again is a reason of its own.
    var isUnprocessed: Bool {
        guard let easy, upload?.canStartAgain ?? true else { return false }
        return hasSent && (sending.isAboveGoAway || sending.isUnsent(easy))
    }

    /// libcurl sends it again of its own accord: whether nothing came of the first time.
    private var isUnprocessedRepetition: Bool {
        guard let easy else { return false }
        return isUnprocessed || sending.isRefusedStream(easy)
    }

    /// Whether the last response wants the same request again: a challenge, or an Expect refused.
    private var wasAskedToSendAgain: Bool {
        switch collector.lastStatus {
        case 401, 407, 417: true
        default: false
        }
    }

    /// The next bytes of the body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ transfers: Transfers) -> UploadSource.Chunk {
        guard !hasFailed, let upload, buffer.count > 0 else {
            return .failed(makeError(.bodyUnavailable, "no body"))
        }
        // Where libcurl takes no early end, nothing more comes until the response has ended, and the body with it.
        if isUploadMoot { return transfers.settings.libcurlFailsShortBodies ? .pending : .end }
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

    /// libcurl has gone back to the body's start by itself, for another connection or a challenge. What the source had not
    /// before no longer counts, and it may owe no wake-up.
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

    /// A body that travelled with the head has no read callback: its bytes are told when they must be out.
    func reportSmallBody() {
        guard case .fields(let data) = plan.body, !data.isEmpty else { return }
        sink.didSend(bodyBytes: Int64(data.count), of: Int64(data.count))
    }
}
