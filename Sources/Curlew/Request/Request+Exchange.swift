internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
internal import Foundation

// What an exchange tells its request, from the transport's thread: nothing here blocks or calls user code.
extension Request {
    var sessionReference: SessionReference {
        SessionReference(
            identifier: context.configuration.identifier,
            session: record.withLock { $0.session }
        )
    }

    func transferStarted(_ control: any TransferControl) {
        let (state, error) = record.withLock { record in
            record.run.active?.exchange?.control = control
            return (record.state, record.cancellation)
        }
        switch state {
        case .cancelled: control.cancel(with: error ?? .explicitlyCancelled)
        case .suspended: tellControl()
        case .initialized, .resumed, .finished: break
        }
    }

    /// The answer that the body has to wait for.
    func headArrived(_ response: LazyResponse, total: Int64) -> HeadAnswer? {
        let (hook, streams, control, reporter) = record.withLock { record in
            record.transfer.response = response
            record.transfer.download = TransferCount(completed: 0, total: total)
            return (
                record.extras?.hooks.onHead, record.extras?.hooks.streams ?? [], record.run.exchange?.control,
                record.extras?.hooks.downloadProgress
            )
        }
        reporter?.started(TransferCount(completed: 0, total: total))
        for stream in streams { stream.send(response) }
        guard let ask = hook ?? sessionHeadHook else { return nil }
        let answer = HeadAnswer()
        ask(response) { [weak self] disposition in
            answer.settle(disposition) {
                switch disposition {
                case .allow, .becomeDownload: control?.resumeReceiving()
                case .cancel: self?.cancel()
                }
            }
        }
        return answer
    }

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

    func received(_ count: TransferCount) {
        let reporter = record.withLock { record in
            record.transfer.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(count)
    }

    /// Bytes of a body that is kept in memory: they and their number are seen in one step.
    func received(_ count: TransferCount, keeping bytes: UnsafeRawBufferPointer, reserving capacity: Int) {
        let reporter = record.withLock { record in
            if record.transfer.incoming == nil {
                var first = Data()
                if capacity > bytes.count { first.reserveCapacity(capacity) }
                record.transfer.incoming = first
            }
            record.transfer.incoming?.append(contentsOf: bytes)
            record.transfer.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(count)
    }

    func sent(_ count: TransferCount) {
        let (reporter, count) = record.withLock { record in
            // A body that is sent again stands still until there is news.
            var furthest = count
            furthest.completed = max(
                count.completed, min(record.transfer.upload.completed, count.total < 0 ? .max : count.total))
            record.transfer.upload = furthest
            return (record.extras?.hooks.uploadProgress, furthest)
        }
        reporter?.report(count)
    }

    func keep(_ metrics: TransferMetrics) { record.withLock { $0.history.metrics.append(metrics) } }

    /// The exchange is over: this is what it brought, or what has come into memory.
    @discardableResult
    func keep(_ body: ReceivedBody) -> KeptResponse {
        let (kept, _) = record.withLock { record in
            record.transfer.body = exchange(&record.transfer.incoming, with: nil).map { .data($0) } ?? body
            guard let active = record.run.active else { return (KeptResponse(record), nil as ActiveExchange?) }
            // Its control goes without the lock.
            let ended = active.exchange
            active.exchange?.stage = .over
            active.exchange?.control = nil
            return (KeptResponse(record), ended)
        }
        return kept
    }
}

/// What an exchange has brought, and how it is to be judged.
struct KeptResponse {
    let body: ReceivedBody
    let response: LazyResponse?
    let validations: [RequestOptions.Validation]
    let acceptsAnyStatus: Bool

    init(_ record: __shared RequestRecord) {
        body = record.transfer.body
        response = record.transfer.response
        validations = record.extras?.options.validations ?? []
        acceptsAnyStatus = record.extras?.options.acceptsAnyStatus == true
    }
}
