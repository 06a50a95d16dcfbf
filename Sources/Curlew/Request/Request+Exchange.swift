internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// The calls of an exchange, on the transport's thread: none of them blocks or calls user code.
extension Request {
    func transferStarted(_ control: any TransferControl, _ delegate: any TaskDelegate) {
        controlled(by: control) { $0.delegate = delegate }
    }

    /// Replaces the control of the exchange by one for all its parallel transfers.
    func transferGoesOn(_ control: any TransferControl) { controlled(by: control) { $0.stage = .running } }

    private func controlled(by control: any TransferControl, _ change: (inout ActiveExchange) -> Void) {
        // The former control is released without the lock, because it may be a user's.
        let (state, error, _) = record.withLock { record in
            let former = record.run.active?.exchange
            if let former {
                var changed = former
                changed.control = control
                changed.isSuspended = false  // The new control has not been told yet.
                change(&changed)
                record.run.active?.exchange = changed
            }
            return (record.state, record.cancellation, former)
        }
        switch state {
        case .cancelled: control.cancel(with: error ?? .cancelled)
        case .suspended: tellControl()
        case .initialized, .resumed, .finished: break
        }
    }

    /// Holds back a response that another exchange may follow.
    func holdsBack(_ head: ResponseHead) { record.withLock { $0.transfer.heldBack = HeldBackResponse(head) } }

    /// Returns the response that was held back, to be delivered after all.
    func takeHeldBack() -> (head: ResponseHead, body: Data)? {
        record.withLock { record in exchange(&record.transfer.heldBack, with: nil).map { ($0.head, $0.body) } }
    }

    /// Whether a response is held back.
    var isHoldingBack: Bool { record.withLock { $0.transfer.heldBack != nil } }

    /// The head of the last response, held back or not.
    var lastHead: ResponseHead? {
        record.withLock { $0.transfer.heldBack?.head ?? $0.transfer.response?.head }
    }

    /// Records the head and asks the user about it. Returns whether the body has to wait for the decision.
    func headArrived(_ response: LazyResponse) -> Bool {
        let (hook, streams, start) = record.withLock { record in
            record.transfer.headArrived(response)
            return (
                record.extras?.hooks.onHead, record.extras?.hooks.streams ?? [],
                record.extras?.hooks.downloadProgress.map { ($0, record.transfer.download) }
            )
        }
        if let (reporter, count) = start { reporter.started(count) }
        for stream in streams { stream.send(response) }
        guard let ask = hook ?? sessionHeadHook else { return false }
        let answer = HeadAnswer()
        let control = record.withLock { record in
            record.transfer.headAnswer = answer
            return record.run.exchange?.control
        }
        ask(self, response) { [weak self] disposition in
            let decision = self?.decision(disposition, about: response) ?? .allow
            answer.settle(decision) {
                if case .cancel = decision { self?.cancel() } else { control?.resumeReceiving() }
            }
        }
        return true
    }

    /// Returns the decision, with the file for the body if the user has chosen one.
    private func decision(
        _ disposition: ResponseDisposition,
        about response: LazyResponse
    ) -> HeadAnswer.Decision {
        switch disposition {
        case .allow: .allow
        case .cancel: .cancel
        case .becomeDownload: (self as? DataRequest).map { .file(BodyFile(for: $0, response)) } ?? .allow
        }
    }

    func takeHeadAnswer() -> HeadAnswer? { record.withLock { exchange(&$0.transfer.headAnswer, with: nil) } }

    /// Delivers the buffered body according to the user's decision about the head.
    func answered(_ answer: HeadAnswer?) { record.withLock { $0.transfer.headAnswer = answer } }

    /// Replaces the status of the response that users see.
    func showsResponse(as status: Int) {
        record.withLock { record in
            guard let response = record.transfer.response else { return }
            var head = response.head
            head.status = status
            record.transfer.response = LazyResponse(url: response.url, head: head)
        }
    }

    /// Sets the number of bytes that the body continues after.
    func continues(_ count: TransferCount) {
        let reporter = record.withLock { record in
            record.transfer.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.started(count)
    }

    /// Sets the number of received bytes, over all parallel exchanges.
    func received(_ whole: TransferCount) {
        let reporter = record.withLock { record in
            record.transfer.download = whole
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(whole)
    }

    /// Adds received bytes to the progress.
    func received(_ count: Int) {
        let (whole, reporter) = record.withLock { record in
            record.transfer.download.completed += Int64(count)
            return (record.transfer.download, record.extras?.hooks.downloadProgress)
        }
        reporter?.report(whole)
    }

    /// Returns the number of sent bytes that are new, or `nil` if none is.
    func sent(_ count: TransferCount) -> Int64? {
        let (sent, reporter) = record.withLock { ($0.transfer.sent(count), $0.extras?.hooks.uploadProgress) }
        guard let sent else { return nil }
        reporter?.report(sent.shown)
        return sent.news
    }

    func keep(_ metrics: TransferMetrics) { record.withLock { $0.history.attempt.collectedMetrics.append(metrics) } }

    /// Records a body that is not in memory, and ends the exchange.
    func keep(_ body: ReceivedBody) {
        // The control is released without the lock.
        _ = record.withLock { record in
            record.transfer.body = body
            return record.run.endsExchange()
        }
    }

    /// Ends the exchange, and returns its outcome. Returns `nil` if the response was held back or the decision about
    /// its head is awaited, unless `isDecided`. `metrics` is `nil` if the metrics were recorded before.
    func exchangeEnded(_ metrics: TransferMetrics?, isDecided: Bool) -> EndedExchange? {
        // Released without the lock: the control may be a user's, and the file of the answer holds the request.
        let (ended, _, answer) = record.withLock { record -> (EndedExchange?, ActiveExchange?, HeadAnswer?) in
            if !isDecided, record.transfer.heldBack != nil || record.transfer.headAnswer?.allowsBody == false {
                return (nil, nil, nil)
            }
            if let metrics { record.history.attempt.collectedMetrics.append(metrics) }
            record.transfer.endsBody()
            let answer = exchange(&record.transfer.headAnswer, with: nil)
            return (record.endedExchange(), record.run.endsExchange(), answer)
        }
        answer?.expire()
        return ended
    }
}

/// The outcome of an exchange, and the rules for validating it.
struct EndedExchange {
    let body: ReceivedBody
    /// The file of the body, if it was turned into a download.
    let file: BodyFile?
    let response: LazyResponse?
    let isCancelled: Bool
    /// Whether Curlew ended the exchange, and not its peer.
    let wasAborted: Bool
    let validations: [RequestOptions.Validation]
    let acceptsAnyStatus: Bool
}

extension RequestRecord {
    fileprivate mutating func endedExchange() -> EndedExchange {
        EndedExchange(
            body: transfer.body,
            // The file refers to its request, so keeping it would be a reference cycle.
            file: exchange(&transfer.file, with: nil),
            response: transfer.response,
            isCancelled: isCancelled,
            wasAborted: transfer.wasAborted,
            validations: extras?.options.validations ?? [],
            acceptsAnyStatus: extras?.options.acceptsAnyStatus == true
        )
    }
}
