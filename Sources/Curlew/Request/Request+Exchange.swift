internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
internal import Foundation

// What an exchange tells its request, from the transport's thread: nothing here blocks or calls user code.
extension Request {
    func transferStarted(_ control: any TransferControl, _ delegate: any TaskDelegate) {
        controlled(by: control) { $0.delegate = delegate }
    }

    /// The exchange goes on as several, which `control` stands for.
    func transferGoesOn(_ control: any TransferControl) { controlled(by: control) { $0.stage = .running } }

    private func controlled(by control: any TransferControl, _ change: (inout ActiveExchange) -> Void) {
        // What was replaced goes without the lock: transports are not Curlew's alone.
        let (state, error, _) = record.withLock { record in
            let former = record.run.active?.exchange
            if let former {
                var changed = former
                changed.control = control
                change(&changed)
                record.run.active?.exchange = changed
            }
            return (record.state, record.cancellation, former)
        }
        switch state {
        case .cancelled: control.cancel(with: error ?? .explicitlyCancelled)
        case .suspended: tellControl()
        case .initialized, .resumed, .finished: break
        }
    }

    /// A response that may be a step on the way to the answer.
    func holdsBack(_ head: ResponseHead) { record.withLock { $0.transfer.heldBack = HeldBackResponse(head) } }

    /// The response that was held back, to take it for the answer.
    func takeHeldBack() -> (head: ResponseHead, body: Data)? {
        record.withLock { record in exchange(&record.transfer.heldBack, with: nil).map { ($0.head, $0.body) } }
    }

    /// Whether a response has not been taken for the answer.
    var isHoldingBack: Bool { record.withLock { $0.transfer.heldBack != nil } }

    /// The head of the last response, whatever it means.
    var lastHead: ResponseHead? {
        record.withLock { $0.transfer.heldBack?.head ?? $0.transfer.response?.head }
    }

    /// Whether the body has to wait for an answer.
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
            answer.settle(disposition) {
                switch disposition {
                case .allow, .becomeDownload: control?.resumeReceiving()
                case .cancel: self?.cancel()
                }
            }
        }
        return true
    }

    func takeHeadAnswer() -> HeadAnswer? { record.withLock { exchange(&$0.transfer.headAnswer, with: nil) } }

    /// The body that was held back is to come as the answer to its head says.
    func answered(_ answer: HeadAnswer?) { record.withLock { $0.transfer.headAnswer = answer } }

    /// The response means something else than its status says.
    func showsResponse(as status: Int) {
        record.withLock { record in
            guard let response = record.transfer.response else { return }
            var head = response.head
            head.status = status
            record.transfer.response = LazyResponse(url: response.url, head: head)
        }
    }

    /// The body belongs behind what is there already.
    func continues(_ count: TransferCount) {
        let reporter = record.withLock { record in
            record.transfer.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.started(count)
    }

    /// So many of the body's bytes are there by now, in this exchange and in others.
    func received(_ whole: TransferCount) {
        let reporter = record.withLock { record in
            record.transfer.download = whole
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(whole)
    }

    /// So many more of them have come.
    func received(_ count: Int) {
        let (whole, reporter) = record.withLock { record in
            record.transfer.download.completed += Int64(count)
            return (record.transfer.download, record.extras?.hooks.downloadProgress)
        }
        reporter?.report(whole)
    }

    /// How many bytes that have been sent are new; nil where none is.
    func sent(_ count: TransferCount) -> Int64? {
        let (sent, reporter) = record.withLock { ($0.transfer.sent(count), $0.extras?.hooks.uploadProgress) }
        guard let sent else { return nil }
        reporter?.report(sent.shown)
        return sent.news
    }

    func keep(_ metrics: TransferMetrics) { record.withLock { $0.history.attempt.collectedMetrics.append(metrics) } }

    /// The body is not in memory, but there.
    func keep(_ body: ReceivedBody) {
        // The control goes without the lock.
        _ = record.withLock { record in
            record.transfer.body = body
            return record.run.endsExchange()
        }
    }

    /// The exchange is over. nil where its response was held back, or an answer about its head is still to come, which
    /// `isDecided` says is not the case. `metrics`: unless they are kept already.
    func exchangeEnded(_ metrics: TransferMetrics?, isDecided: Bool) -> EndedExchange? {
        let (ended, _) = record.withLock { record -> (EndedExchange?, ActiveExchange?) in
            if !isDecided, record.transfer.heldBack != nil || record.transfer.headAnswer?.allowsBody == false {
                return (nil, nil)
            }
            if let metrics { record.history.attempt.collectedMetrics.append(metrics) }
            record.transfer.endsBody()
            return (record.endedExchange(), record.run.endsExchange())
        }
        return ended
    }
}

/// What an exchange has brought, and how it is to be judged.
struct EndedExchange {
    let body: ReceivedBody
    /// Where the body was to go, if it was turned into a download.
    let file: BodyFile?
    let response: LazyResponse?
    let isCancelled: Bool
    /// From here, not by its peer.
    let wasAborted: Bool
    let validations: [RequestOptions.Validation]
    let acceptsAnyStatus: Bool
}

extension RequestRecord {
    fileprivate mutating func endedExchange() -> EndedExchange {
        EndedExchange(
            body: transfer.body,
            // It knows its request, which need not know it any more.
            file: exchange(&transfer.file, with: nil),
            response: transfer.response,
            isCancelled: isCancelled,
            wasAborted: transfer.wasAborted,
            validations: extras?.options.validations ?? [],
            acceptsAnyStatus: extras?.options.acceptsAnyStatus == true
        )
    }
}
