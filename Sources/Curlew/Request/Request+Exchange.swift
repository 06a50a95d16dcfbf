internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// What an exchange tells its request, from the transport's thread: nothing here blocks or calls user code.
extension Request {
    var sessionReference: SessionReference {
        SessionReference(
            identifier: context.configuration.identifier,
            session: record.withLock { $0.session.session }
        )
    }

    func transferStarted(_ control: any TransferControl) {
        let (state, error, _) = record.withLock { record in
            record.controlIsSuspended = false
            return (record.machine.state, record.cancellationError, exchange(&record.control, with: control))
        }
        switch state {
        case .cancelled: control.cancel(with: error ?? .explicitlyCancelled)
        case .suspended: tellControl()
        case .initialized, .resumed, .finished: break
        }
    }

    /// What the body has to wait for: somebody's answer.
    func headArrived(_ response: LazyResponse, total: Int64) -> HeadAnswer? {
        let (hook, streams, control, reporter) = record.withLock { record in
            record.response = response
            record.download = TransferCount(completed: 0, total: total)
            return (
                record.extras?.hooks.onHead, record.extras?.hooks.streams ?? [], record.control,
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
            guard let response = record.response else { return }
            var head = response.head
            head.status = status
            record.response = LazyResponse(url: response.url, head: head)
        }
    }

    /// The body belongs behind what is there already.
    func continues(_ count: TransferCount) {
        let reporter = record.withLock { record in
            record.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.started(count)
    }

    func received(_ count: TransferCount) {
        let reporter = record.withLock { record in
            record.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(count)
    }

    /// Bytes of a body that is kept in memory: they and their number are seen in one step.
    func received(_ count: TransferCount, keeping bytes: UnsafeRawBufferPointer, reserving capacity: Int) {
        let reporter = record.withLock { record in
            if record.incoming == nil {
                var first = Data()
                if capacity > bytes.count { first.reserveCapacity(capacity) }
                record.incoming = first
            }
            record.incoming?.append(contentsOf: bytes)
            record.download = count
            return record.extras?.hooks.downloadProgress
        }
        reporter?.report(count)
    }

    func sent(_ count: TransferCount) {
        let (reporter, count) = record.withLock { record in
            // A body that is sent again stands still until there is news.
            var furthest = count
            furthest.completed = max(
                count.completed, min(record.upload.completed, count.total < 0 ? .max : count.total))
            record.upload = furthest
            return (record.extras?.hooks.uploadProgress, furthest)
        }
        reporter?.report(count)
    }

    func keep(_ metrics: TransferMetrics) { record.withLock { $0.metrics.append(metrics) } }

    /// The exchange is over: this is what it brought, or what has come into memory.
    @discardableResult
    func keep(_ body: ReceivedBody) -> KeptResponse {
        let (kept, _) = record.withLock { record in
            record.taskState = .none
            record.body = exchange(&record.incoming, with: nil).map { .data($0) } ?? body
            return (KeptResponse(record), exchange(&record.control, with: nil))
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
        body = record.body
        response = record.response
        validations = record.extras?.options.validations ?? []
        acceptsAnyStatus = record.extras?.options.acceptsAnyStatus == true
    }
}
