internal import CCurl
internal import CurlewCore
internal import Foundation

/// The progress of a transfer's request.
struct SendingState {
    /// The number of times that libcurl has sent the request. Reset by `ActiveTransfer.prepare(for:)`.
    var count = 0
    var hasBegun: Bool { count > 0 }
    /// Evidence about the last send: whether the server can have processed it, and whether its connection broke.
    var evidence = DeliveryEvidence()
    /// The number of earlier sends on this handle, without those that a server declined after it had processed other
    /// requests on the connection. Reset by `ActiveTransfer.prepare(for:)`.
    var unproductiveCount = 0
    /// The number of sends before the last restart that count against `ActiveTransfer.maximumAttempts`.
    var attempts = 0
    /// The number of times that the engine has sent the request again because no server had processed it.
    var restarts = 0
    /// The answer to libcurl's last question whether it may send; `send` before the first.
    var answer = SendAnswer.send
    /// The connection that has refused the transfer last, and how often in a row
    /// (`Transfers.admitRequest`).
    var refusals: (name: ConnectionName?, count: Int32) = (nil, 0)
    /// Whether a final response has refused the body before all of it was sent, so that the rest is not sent.
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
    /// Not on this handle: the transfer restarts with a changed plan. If its body cannot be rewound, a challenge is the
    /// result, and after any other response the transfer fails.
    case restart(TransferRestart)
    /// Not at all: `ActiveTransfer.failure` has the reason.
    case fail
}

extension ActiveTransfer {
    // MARK: The request

    /// Lets libcurl send the request over the connection, and records the send; or returns false, and libcurl gives the
    /// connection up. Called before the first byte of each send, including repetitions by libcurl.
    ///
    /// The wait for a connection is over in either case. The callback can tell libcurl no more than yes or no, so the
    /// answer is stored for `Transfers.finish`.
    func authorizeSend(_ transfers: Transfers, over connection: ConnectionName) -> Bool {
        transfers.loop.assertOnLoop()
        transfers.sockets.connecting.remove(self)
        guard !hasFailed else { return false }
        transfers.sockets.recordConnection(of: self, named: connection)
        transfers.queues.foundConnection(self)
        // Connections over a Unix socket have no ports, and so all of them would have one name.
        self.connection.name = connection.localPort > 0 ? connection : nil
        sending.answer = answer(transfers, over: connection)
        guard case .send = sending.answer else { return false }
        if plan.prewarms { return stopBeforeSending(transfers) }
        if let interval = transfers.settings.pingInterval {
            transfers.pings.requestSent(at: transfers.now, every: interval)
            transfers.sockets.connections.pingsWritten(to: connection)
        }
        // Each send has its own evidence, which the next send replaces. So the earlier one is evaluated here.
        if sending.hasBegun, !sending.evidence.isBehindProcessedStream { sending.unproductiveCount += 1 }
        sending.count += 1
        prepareEvidence(transfers)
        sendingBegan(transfers)
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
        if plan.isTLS, !transfers.handshakes.evaluateBeforeSending(self) { return .fail }
        if let limits = transfers.settings.retirement,
            !transfers.admitRequest(of: self, to: connection, by: limits)
        {
            return .holdBack
        }
        return .send
    }

    /// Called when the beginning of the request has been sent, with a libcurl that does not ask before it sends.
    /// Repetitions by libcurl, also in response to a challenge, are not counted.
    func wasSent(_ transfers: Transfers) {
        guard sending.count == 0, !hasFailed else { return }
        transfers.loop.assertOnLoop()
        transfers.sockets.connecting.remove(self)
        transfers.sockets.recordConnection(of: self, named: nil)
        transfers.queues.foundConnection(self)
        sending.count = 1
        sendingBegan(transfers)
    }

    /// Prepares the evidence about this send if it may be needed. libcurl reports the fate of a stream and of its
    /// connection in its trace only.
    ///
    /// Over HTTP/2 every transfer is traced: libcurl writes a GOAWAY to the trace of any transfer on the connection,
    /// and a request that must not be repeated depends on it.
    private func prepareEvidence(_ transfers: Transfers) {
        let settings = transfers.settings
        let maySpeakHTTP2 = plan.isTLS || settings.hasPriorKnowledge
        let mayBeCut = settings.quirks.hidesBrokenConnections && maySpeakHTTP2
        let isNeeded = !plan.mayBeResent || sending.count > 1 || mayBeCut
        // What the trace has shown of other connections must not remain, whether or not this send needs evidence.
        sending.evidence = DeliveryEvidence()
        guard isNeeded || maySpeakHTTP2, let easy else { return }
        let version = transfers.sockets.version(of: self)
        if isNeeded {
            sending.evidence = DeliveryEvidence(easy, speaksHTTP2: version == .http2, isFirst: sending.count == 1)
        }
        if version == .http2 || (mayBeCut && version == nil) {
            easy.setTrace(easy.trace.union(.work))
        }
    }

    private func sendingBegan(_ transfers: Transfers) {
        // Earlier responses say nothing about this send.
        response.collector.lastStatus = 0
        if sending.upload == nil {
            clocks.requestSent(at: transfers.now)
        } else {
            clocks.sendingStarted(at: transfers.now)
        }
        transfers.clockChanged(self)
    }

    // MARK: The body

    /// Opens a streamed body. Only the first call has an effect, however often the transfer is given to libcurl.
    func openBody() {
        guard let upload = sending.upload, upload.isStream, sending.waker == nil else { return }
        let waker = TransferWaker(self)
        sending.waker = waker
        upload.open(waker: waker)
    }

    /// Fills libcurl's buffer with the next bytes of the body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ transfers: Transfers) -> UploadSource.Chunk {
        guard !hasFailed, let upload = sending.upload, buffer.count > 0 else {
            return .failed(makeError(.bodyUnavailable, "no body"))
        }
        // A libcurl that fails short bodies gets nothing more until the response ends the exchange. Others accept an
        // early end.
        if sending.isBodyRefused { return transfers.settings.quirks.failsShortBodies ? .pending : .end }
        if pauses.sourcePending { bodyIsReadAgain(transfers) }
        if pauses.isSuspended || transfers.sockets.sendingWaitsForReader(self) { return pauseSending(transfers) }
        let chunk = upload.read(into: buffer)
        switch chunk {
        case .bytes(let count):
            clocks.byteMoved(at: transfers.now)
            sink.didSend(bodyBytes: upload.position, of: upload.length)
            if upload.hasEnded, count > 0 { bodyEnded(transfers) }
        case .end: bodyEnded(transfers)
        case .pending:
            pauses.sourcePending = true
            return pauseSending(transfers)
        case .failed(let error):
            failure = withDetails(error)
        }
        return chunk
    }

    /// Returns the trailer lines that follow a body that has ended. `nil` if the transfer has to end.
    func trailerLines() -> [String]? {
        guard !hasFailed else { return nil }
        // The response has refused the rest of the body, so this is not its end.
        guard !sending.isBodyRefused, let trailers = request.trailers else { return [] }
        do throws(CurlewError) {
            return try trailers.fields().map { "\($0.name): \($0.value)" }
        } catch {
            failure = withDetails(error)
            return nil
        }
    }

    /// Called when libcurl has rewound a pending body by itself, for another connection or a challenge. No wake-up will
    /// come for the read that was pending.
    private func bodyIsReadAgain(_ transfers: Transfers) {
        pauses.sourcePending = false
        guard !pauses.isPaused else { return }
        clocks.resumed(at: transfers.now)
        transfers.clockChanged(self)
    }

    private func pauseSending(_ transfers: Transfers) -> UploadSource.Chunk {
        pauses.applied |= CURLPAUSE_SEND
        clocks.paused(at: transfers.now)
        return .pending
    }

    private func bodyEnded(_ transfers: Transfers) {
        guard case .send = clocks.stretch else { return }
        clocks.requestSent(at: transfers.now)
        transfers.clockChanged(self)
    }
}
