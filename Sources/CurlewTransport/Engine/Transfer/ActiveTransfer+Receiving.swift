internal import CCurl
internal import CurlewCore
internal import Foundation

/// The progress of a transfer's response.
struct ResponseState {
    /// The coding to undo in the body.
    enum Coding {
        case unknown
        case none
        case coded(BodyDecoder)
    }

    var collector = HeadCollector()
    /// The head that the sink has.
    var head: ResponseHead?
    /// Whether there is a `head`; reading it does not copy the head.
    var hasHead: Bool { if case .some = head { true } else { false } }
    /// A complete head that libcurl may answer with another request (authentication, Expect).
    var deferredHead: ResponseHead?
    /// The server's challenges (401) that libcurl has answered.
    var answeredChallenges: [ResponseHead] = []
    /// The number of challenges, of the server and of proxies, that libcurl has answered. Reset when the request leaves
    /// a shared connection.
    var challengeCounts = (server: 0, proxy: 0)
    var coding = Coding.unknown
    /// The length of the body, if the head arrived before all of the request's body was sent, announces a length, and
    /// announces no coding.
    var expectedBody: Int64?
    var deliveredBody: Int64 = 0
    /// The number of body bytes in responses that are discarded because the transfer restarts.
    var discardedBody = 0
    /// The sink's observer for the end of the current turn.
    var turnObserver: (any TurnObserver)?

    /// Whether every byte of the response has arrived, regardless of the rest of the request.
    var isComplete: Bool { expectedBody == deliveredBody && hasHead }
}

extension ActiveTransfer {
    // MARK: Head

    /// Processes a header line that differs from the handle's last head. Returns false to end the transfer.
    func received(line: UnsafeRawBufferPointer, _ easy: TransferHandle, _ transfers: Transfers) -> Bool {
        guard !hasFailed else { return false }
        let wasComplete = response.collector.isComplete
        let event = response.collector.parse(line, unlike: &easy.lastHead)
        guard checkHeadLimit(transfers) else { return false }
        switch event {
        case .none:
            return true
        case .started(let version):
            return responseStarted(version, afterCompleteHead: wasComplete, transfers.settings)
        case .informational(let head):
            clocks.receivingStarted(at: transfers.now)
            sink.didReceive(informational: head)
            // After a 1xx the wait for the final response continues.
            if sending.upload?.hasEnded ?? true {
                clocks.requestSent(at: transfers.now)
            } else {
                clocks.sendingStarted(at: transfers.now)
            }
            transfers.clockChanged(self)
            return true
        case .malformed(let reason):
            failure = makeError(.protocolViolation, reason)
            return false
        case .head(let head):
            return received(head, transfers)
        }
    }

    /// Called for a status line that equals the one of the handle's last head, before the collector has it. Returns
    /// false to end the transfer.
    func receivedRepeatedStatusLine(of easy: TransferHandle) -> Bool {
        responseStarted(
            easy.lastHead.head.version, afterCompleteHead: response.collector.isComplete, easy.transfers.settings)
    }

    /// Checks that a response may begin here, and with this version. Sets `failure` and returns false if not.
    ///
    /// After a complete head another one may come only for another send, or if libcurl may answer the response with one.
    /// Otherwise the line is a trailer that looks like a status line. It must not replace the response, or the trailers
    /// before it.
    private func responseStarted(
        _ version: HTTPVersion, afterCompleteHead isComplete: Bool, _ settings: EngineSettings
    ) -> Bool {
        if isComplete, response.deferredHead == nil {
            if !hasFailed { failure = makeError(.protocolViolation, "a trailer looks like a status line") }
            return false
        }
        return checkVersion(version, settings)
    }

    /// Processes a head that equals the handle's last one. Returns false to end the transfer.
    func receivedRepeatedHead(of easy: TransferHandle, _ transfers: Transfers) -> Bool {
        guard !hasFailed else { return false }
        let head = easy.lastHead.head
        response.collector.use(head, size: easy.lastHead.size)
        return checkHeadLimit(transfers) && received(head, transfers)
    }

    /// Fails the transfer because a folded line follows the status line. Called before libcurl stores that line.
    func refuseLeadingFold() {
        guard !hasFailed else { return }
        failure = makeError(.protocolViolation, HeadCollector.leadingFold)
    }

    /// Checks that the lines of the response so far are within the limit. Sets `failure` and returns false if not.
    private func checkHeadLimit(_ transfers: Transfers) -> Bool {
        if response.collector.size <= transfers.settings.maximumHeaderSize { return true }
        failure = makeError(
            .limitExceeded, "the response's header is above \(transfers.settings.maximumHeaderSize) bytes")
        return false
    }

    private func received(_ head: ResponseHead, _ transfers: Transfers) -> Bool {
        // RFC 9110, 15.2.2: servers may switch protocols only on request. libcurl would treat the bytes of the other
        // protocol as a body.
        if head.status == 101, !request.effectiveHeaders.contains(name: "Upgrade") {
            let reason = "the server switches to another protocol, which the request did not ask for"
            failure = makeError(.protocolViolation, reason)
            return false
        }
        clocks.receivingStarted(at: transfers.now)
        transfers.clockChanged(self)
        if let answered = response.deferredHead {
            if answered.status == 401 {
                response.answeredChallenges.append(answered)
                response.challengeCounts.server += 1
            } else if answered.status == 407 {
                response.challengeCounts.proxy += 1
            }
        }
        if mayBeAnsweredByAnotherRequest(head.status) {
            response.deferredHead = head
            return true
        }
        return deliver(head, transfers)
    }

    /// Checks that the protocol of the connection allows `version` in a status line. Sets `failure` and returns false if
    /// not.
    ///
    /// libcurl before 8.12 acts on the version in the text before the head has ended: it frames the body accordingly,
    /// and lets other requests use the connection. Therefore the check happens at the status line.
    private func checkVersion(_ version: HTTPVersion, _ settings: EngineSettings) -> Bool {
        guard version == .http2 || version == .http3, !settings.hasPriorKnowledge else { return true }
        let speaksHTTP1 =
            if !plan.isTLS {
                true
            } else if let handle = easy?.handle, let connection = curlew_tls_connection(handle) {
                curlew_tls_speaks_http1(connection) != 0
            } else {
                // The TLS library does not reveal the protocol, or libcurl returns no connection for QUIC. Versions
                // that return one are covered above: over QUIC the peers agree on HTTP/3.
                false
            }
        if speaksHTTP1 {
            failure = makeError(.protocolViolation, "an HTTP/1 response says that it is of HTTP/2 or HTTP/3")
        }
        return !speaksHTTP1
    }

    /// Whether libcurl may answer a response with this status by another request. Only its next step shows whether it
    /// does.
    private func mayBeAnsweredByAnotherRequest(_ status: Int) -> Bool {
        switch status {
        case 401:
            request.options.authentication != nil || request.url.user() != nil || request.url.password() != nil
                || response.head != nil
        case 407: true
        case 417: plan.sendsExpect
        case 421: plan.route != nil
        default: false
        }
    }

    /// Delivers the head to the sink. Returns false to end the transfer.
    private func deliver(_ head: ResponseHead, _ transfers: Transfers) -> Bool {
        response.deferredHead = nil
        response.head = head
        response.coding = .unknown
        if case .fields(let data) = plan.body, !data.isEmpty {
            // libcurl has sent a small body with the head, without the read callback.
            sink.didSend(bodyBytes: Int64(data.count), of: Int64(data.count))
        }
        // Alternatives that a misdirected response announces are ignored (RFC 7838, 6).
        if let alternatives = transfers.settings.alternatives, plan.isTLS, head.status != 421,
            head.headers.contains(name: "Alt-Svc")
        {
            alternatives.receive(head.headers, from: SecureOrigin(host: plan.host, port: plan.wire.port))
        }
        if sending.upload?.hasEnded == false { respondedEarly(with: head, transfers) }
        switch sink.didReceive(head: head) {
        case .proceed: return true
        case .pause:
            pauses.sinkPaused = true
            clocks.paused(at: transfers.now)
            return true
        case .abort(let error):
            failure = error
            return false
        }
    }

    /// Called for the head of a response that comes before all of the request's body was sent.
    private func respondedEarly(with head: ResponseHead, _ transfers: Transfers) {
        if head.headers["Content-Encoding"] == nil {
            response.expectedBody = head.headers["Content-Length"].flatMap { Int64($0) }
        }
        checkForWholeResponse(transfers)
        guard head.status >= 300 else { return }
        // libcurl stops sending by itself unless the connection ends after the exchange anyway. In that case `fill`
        // ends or pauses the body. While the source is pending libcurl does not call `fill`, so the source is woken.
        sending.isBodyRefused = true
        if pauses.sourcePending { send(.wakeBody) }
    }

    // MARK: Body

    func received(body chunk: UnsafeRawBufferPointer, _ transfers: Transfers) -> BodyAnswer {
        guard !hasFailed else { return .refused }
        if let deferred = response.deferredHead {
            if restartOfResponse != nil {
                // Reading on lets libcurl keep the connection. An endless body must not delay the restart for ever:
                // refusing it ends this sending, and so does the idle timeout, which these bytes do not extend. A
                // connection of HTTP/1 is then closed.
                response.discardedBody += chunk.count
                return response.discardedBody <= ProvisionalResponse.limit ? .taken : .refused
            }
            // libcurl passes its body on, so this head is the final one.
            guard deliver(deferred, transfers) else { return .refused }
        }
        if pauses.pausesReceiving { return pause(transfers) }
        if case .unknown = response.coding, !findCoding(transfers) { return .refused }
        guard case .coded(let decoder) = response.coding else { return deliver(body: chunk, transfers) }
        do throws(BrokenCoding) {
            return try decoder.decode(chunk) { deliver(body: $0, transfers) }
        } catch {
            failure = makeError(.contentDecodingFailed, error.reason, number: CurlCode.badContentEncoding)
            return .refused
        }
    }

    /// Determines the codings of the body when its first bytes arrive. Returns false if they cannot be undone.
    private func findCoding(_ transfers: Transfers) -> Bool {
        response.coding = .none
        if transfers.settings.quirks.garblesTransferCodings, let head = response.head,
            !BodyDecoder.transferCodings(of: head).isEmpty
        {
            failure = makeError(
                .contentDecodingFailed, "a transfer coding that was not asked for", number: CurlCode.badContentEncoding)
            return false
        }
        guard request.options.decodesContent, transfers.settings.decodesContent, let head = response.head else {
            return true
        }
        do throws(BrokenCoding) {
            if let decoder = try BodyDecoder.make(for: head) { response.coding = .coded(decoder) }
            return true
        } catch {
            failure = makeError(.contentDecodingFailed, error.reason, number: CurlCode.badContentEncoding)
            return false
        }
    }

    private func makeError(_ code: CurlewError.Code, _ reason: String, number: Int) -> CurlewError {
        var error = makeError(code, reason, phase: .receive)
        error.native = CurlCode.native(number)
        return error
    }

    /// Delivers decoded bytes to the sink.
    private func deliver(body chunk: UnsafeRawBufferPointer, _ transfers: Transfers) -> BodyAnswer {
        if let limit = request.options.maximumBodySize, response.deliveredBody + Int64(chunk.count) > Int64(limit) {
            failure = makeError(.limitExceeded, "the response's body is above \(limit) bytes")
            return .refused
        }
        clocks.byteMoved(at: transfers.now)
        let answer = sink.didReceive(body: chunk)
        if let observer = response.turnObserver {
            response.turnObserver = nil
            transfers.turnObservers.append(observer)
        }
        switch answer {
        case .proceed:
            response.deliveredBody += Int64(chunk.count)
            if response.expectedBody != nil { checkForWholeResponse(transfers) }
            return .taken
        case .pause:
            pauses.sinkPaused = true
            return pause(transfers)
        case .abort(let error):
            failure = error
            return .refused
        }
    }

    /// Shortens the idle timeout if the whole response has arrived while the request's body is being sent.
    private func checkForWholeResponse(_ transfers: Transfers) {
        guard response.isComplete, sending.upload?.hasEnded == false else { return }
        clocks.responseCompleted()
        transfers.clockChanged(self)
    }

    private func pause(_ transfers: Transfers) -> BodyAnswer {
        pauses.applied |= CURLPAUSE_RECV
        transfers.sockets.receivingPaused(self)
        clocks.paused(at: transfers.now)
        return .paused
    }

    // MARK: End

    /// Whether the response was complete before the failure: only the rest of a refused body could not be sent, or a
    /// repetition was stopped.
    func hasWholeResponse(despite result: CURLcode) -> Bool {
        switch sending.answer {
        case .keepResponse, .restart: return true
        case .send, .holdBack, .fail: break
        }
        // The request cannot be sent again, so the response that asked for it is the result.
        if result == CURLE_SEND_FAIL_REWIND, response.deferredHead != nil { return true }
        guard response.hasHead else { return false }
        // libcurl before 8.1 continues to send after the response has ended, and then fails.
        if result == CURLE_HTTP2_STREAM, sending.evidence.responseEnded {
            return response.expectedBody == nil || response.isComplete
        }
        return result == CURLE_SEND_ERROR && sending.isBodyRefused && response.isComplete
    }

    /// Called when the response is complete, as far as libcurl knows. Delivers a head that was deferred. Fails the
    /// transfer if the body was cut off: its connection broke, or its encoded stream is incomplete.
    ///
    /// Without a length only the end of the stream shows that a body of HTTP/2 is complete. libcurl before 8.1 does not
    /// check for that end if the HTTP/2 session has nothing left to do. It keeps a connection whose streams ended
    /// properly, so a connection that it closed is suspicious. Not detected: a server that announces the connection's
    /// end before it breaks a rule, connections that are used once, and all but the last of several responses on the
    /// connection.
    func responseEnded(_ transfers: Transfers) {
        if let deferred = response.deferredHead, !deliver(deferred, transfers) { return }
        if sending.evidence.connectionBroke, transfers.settings.quirks.hidesBrokenConnections,
            let head = response.head, head.version == .http2, head.headers["Content-Length"] == nil,
            request.method != .head, !HTTPStatus(head.status).hasNoBody, !plan.closesConnection,
            easy?.closesConnection != true
        {
            failure = makeError(.truncated, "the connection broke before the body's end", number: CurlCode.partialFile)
        } else if case .coded(let decoder) = response.coding, !decoder.mayEnd {
            failure = makeError(.truncated, "the encoded body ends before its end mark", number: CurlCode.partialFile)
        }
    }
}
