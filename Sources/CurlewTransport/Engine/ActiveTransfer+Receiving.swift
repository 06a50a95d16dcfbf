internal import CCurl
internal import CurlewCore
internal import Foundation

extension ActiveTransfer {
    /// What must be undone of the present response's body.
    enum BodyCoding {
        case unknown
        case none
        case coded(BodyDecoder)
    }

    // MARK: Head

    /// One header line that is not the last head's; false ends the transfer.
    func received(line: UnsafeRawBufferPointer, _ easy: TransferHandle, _ transfers: Transfers) -> Bool {
        guard !hasFailed else { return false }
        let event = collector.take(line, unlike: &easy.lastHead, &transfers.texts)
        guard isAcceptable(transfers) else { return false }
        switch event {
        case .none:
            return true
        case .started(let version):
            return isAcceptable(version, transfers.settings)
        case .informational(let head):
            clocks.receivingStarted(at: transfers.now)
            sink.didReceive(informational: head)
            // After a 1xx the wait for the real response goes on.
            if upload?.hasEnded ?? true {
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

    /// The same head as the handle's last one.
    func received(again easy: TransferHandle, _ transfers: Transfers) -> Bool {
        guard !hasFailed else { return false }
        let head = easy.lastHead.head
        collector.take(head, size: easy.lastHead.size)
        return isAcceptable(transfers) && received(head, transfers)
    }

    /// libcurl is about to store the first line of a head, which continues none.
    func refuseLeadingFold() {
        guard !hasFailed else { return }
        failure = makeError(.protocolViolation, HeadCollector.leadingFold)
    }

    private func isAcceptable(_ transfers: Transfers) -> Bool {
        if collector.size <= transfers.settings.maximumHeaderSize { return true }
        failure = makeError(
            .limitExceeded, "the response's header is above \(transfers.settings.maximumHeaderSize) bytes")
        return false
    }

    private func received(_ head: ResponseHead, _ transfers: Transfers) -> Bool {
        // RFC 9110, 15.2.2. libcurl takes the bytes of the other protocol for a body.
        if head.status == 101, !request.effectiveHeaders.contains(name: "Upgrade") {
            let reason = "the server switches to another protocol, which the request did not ask for"
            failure = makeError(.protocolViolation, reason)
            return false
        }
        clocks.receivingStarted(at: transfers.now)
        transfers.clockChanged(self)
        if let answered = deferredHead {
            if answered.status == 401 {
                answeredChallenges.append(answered)
                challengeCounts.server += 1
            } else if answered.status == 407 {
                challengeCounts.proxy += 1
            }
        }
        if mayBeAnsweredByAnotherRequest(head.status) {
            deferredHead = head
            return true
        }
        return deliver(head, transfers)
    }

    /// Whether a status line may name `version`, judged by what the connection speaks.
    ///
    /// libcurl before 8.12 believes the text of an HTTP/1 connection's response: it frames the body by it, and sends other
    /// requests over the connection before this one's response has ended. Therefore it is asked at the line itself.
    func isAcceptable(_ version: HTTPVersion, _ settings: EngineSettings) -> Bool {
        guard version == .http2 || version == .http3, !settings.hasPriorKnowledge else { return true }
        let speaksHTTP1 =
            if !plan.isTLS {
                true
            } else if let handle = easy?.handle, let connection = curlew_tls_connection(handle) {
                curlew_tls_speaks_http1(connection) != 0
            } else {
                // Over QUIC, or a TLS library that does not tell.
                false
            }
        if speaksHTTP1 {
            failure = makeError(.protocolViolation, "an HTTP/1 response says that it is of HTTP/2 or HTTP/3")
        }
        return !speaksHTTP1
    }

    /// libcurl answers these by itself where it can; whether it does shows only later.
    private func mayBeAnsweredByAnotherRequest(_ status: Int) -> Bool {
        switch status {
        case 401:
            request.options.authentication != nil || request.url.user() != nil || request.url.password() != nil
                || head != nil
        case 407: true
        case 417: plan.sendsExpect
        case 421: plan.route != nil
        default: false
        }
    }

    /// Gives the sink the head it has been waiting for; false ends the transfer.
    private func deliver(_ head: ResponseHead, _ transfers: Transfers) -> Bool {
        deferredHead = nil
        self.head = head
        coding = .unknown
        reportSmallBody()
        expectBody(of: head)
        learnAlternatives(from: head, transfers)
        responseMayBeComplete(transfers)
        if head.status >= 300, upload?.hasEnded == false {
            // libcurl stops by itself unless the connection ends anyway; then `fill` ends or holds the body. A
            // source that has nothing now would keep both waiting.
            isUploadMoot = true
            if pauses.sourcePending { send(.wakeBody) }
        }
        switch sink.didReceive(head: head) {
        case .proceed: return true
        case .pause:
            pauses.sinkPaused = true
            clocks.held(at: transfers.now)
            return true
        case .abort(let error):
            failure = error
            return false
        }
    }

    /// A head that was held back turned out to be the final one.
    func deliverDeferredHead(_ transfers: Transfers) -> Bool {
        guard let deferredHead else { return true }
        return deliver(deferredHead, transfers)
    }

    // MARK: Body

    func received(body chunk: UnsafeRawBufferPointer, _ transfers: Transfers) -> BodyAnswer {
        guard !hasFailed else { return .refused }
        if isRefusedExpectation || isMisdirected {
            clocks.byteMoved(at: transfers.now)
            return .taken
        }
        guard deliverDeferredHead(transfers) else { return .refused }
        if pauses.holdsReceiving { return pause(transfers) }
        if case .unknown = coding, !findCoding(transfers) { return .refused }
        guard case .coded(let decoder) = coding else { return pass(chunk, transfers) }
        do throws(BrokenCoding) {
            return try decoder.take(chunk) { pass($0, transfers) }
        } catch {
            failure = makeError(.contentDecodingFailed, error.reason, number: 61)
            return .refused
        }
    }

    /// Which codings the body has: asked when its first bytes come, because most bodies have none.
    private func findCoding(_ transfers: Transfers) -> Bool {
        coding = .none
        if transfers.settings.libcurlGarblesTransferCodings, let head, !BodyDecoder.transferCodings(of: head).isEmpty {
            failure = makeError(.contentDecodingFailed, "a transfer coding that was not asked for", number: 61)
            return false
        }
        guard request.options.decodesContent, transfers.settings.decodesContent, let head else { return true }
        do throws(BrokenCoding) {
            if let decoder = try BodyDecoder.make(for: head) { coding = .coded(decoder) }
            return true
        } catch {
            failure = makeError(.contentDecodingFailed, error.reason, number: 61)
            return false
        }
    }

    /// The body has ended: its stream must have, and what was coded.
    func checkEndOfBody() {
        if isCutByConnection {
            failure = makeError(.truncated, "the connection broke before the body's end", number: 18)
            return
        }
        guard case .coded(let decoder) = coding, !decoder.mayEnd else { return }
        failure = makeError(.truncated, "the encoded body ends before its end mark", number: 18)
    }

    private func makeError(_ code: CurlewError.Code, _ reason: String, number: Int) -> CurlewError {
        var error = makeError(code, reason, phase: .receive)
        error.native = CurlCode.native(number)
        return error
    }

    /// Bytes of the body as they are meant.
    private func pass(_ chunk: UnsafeRawBufferPointer, _ transfers: Transfers) -> BodyAnswer {
        if let limit = request.options.maximumBodySize, deliveredBody + Int64(chunk.count) > Int64(limit) {
            failure = makeError(.limitExceeded, "the response's body is above \(limit) bytes")
            return .refused
        }
        clocks.byteMoved(at: transfers.now)
        let answer = sink.didReceive(body: chunk)
        if turnObserver != nil { transfers.tellsEndOfTurn(to: self) }
        switch answer {
        case .proceed:
            deliveredBody += Int64(chunk.count)
            responseMayBeComplete(transfers)
            return .taken
        case .pause:
            pauses.sinkPaused = true
            return pause(transfers)
        case .abort(let error):
            failure = error
            return .refused
        }
    }

    private func responseMayBeComplete(_ transfers: Transfers) {
        guard expectedBody != nil, hasWholeBody, upload?.hasEnded == false else { return }
        clocks.responseCompleted()
        transfers.clockChanged(self)
    }

    private func pause(_ transfers: Transfers) -> BodyAnswer {
        pauses.applied |= 1  // CURLPAUSE_RECV
        transfers.sockets.receivingPaused(self)
        clocks.held(at: transfers.now)
        return .paused
    }
}
