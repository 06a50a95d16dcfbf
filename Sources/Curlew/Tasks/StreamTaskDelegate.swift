internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Delivers a response's body while it arrives, once its head has been accepted.
///
/// If the head is rejected, the beginning of the body is stored for the error, and the rest is not received.
final class StreamTaskDelegate: TaskDelegate {
    let exchange: ExchangeContext
    private let channel: BodyChannel
    private let rules: RunRules
    /// The decision about the head.
    private let judgement = OneShot<Judgement>()
    private let excerpt = Lock(Data())
    private static let excerptLimit = 64 * 1024

    private enum Judgement: Sendable {
        case accepted
        case rejected(CurlewError, byTerminal: Bool)
    }

    init(_ exchange: ExchangeContext, _ channel: BodyChannel, _ rules: RunRules) {
        self.exchange = exchange
        self.channel = channel
        self.rules = rules
    }

    func willStart(_ control: any TransferControl) {
        channel.producerStarts(control)
        exchange.request.transferStarted(control, self)
    }

    // MARK: The head

    func begin(_ head: ResponseHead) -> Disposition {
        let (validations, acceptsAny, response, control) = exchange.request.record.withLock { record in
            (
                record.extras?.options.validations ?? [], record.extras?.options.acceptsAnyStatus == true,
                record.transfer.response, record.run.exchange?.control
            )
        }
        guard let response, !validations.isEmpty else {
            // Without user code, the head is checked on the transport's thread.
            let mustCheck = rules.checksStatus && !acceptsAny && validations.isEmpty
            let error = mustCheck ? response.flatMap(statusError) : nil
            settle(error, byTerminal: true, response)
            return .proceed
        }
        guard let control else {
            // A transport without a control cannot be paused, so the validations run on its thread.
            judge(response, by: validations)
            return .proceed
        }
        Handoff()(to: .global()) { [self] in
            judge(response, by: validations)
            control.resumeReceiving()
        }
        return .pause
    }

    private func statusError(_ response: LazyResponse) -> CurlewError? {
        let request = exchange.request
        let method = request.record.withLock { $0.history.lastRequest?.method }
        return StatusCheck.error(for: response, to: method, body: .none)
    }

    private func judge(_ response: LazyResponse, by validations: [RequestOptions.Validation]) {
        let (request, sent) = (exchange.request, exchange.request.request)
        var failure: CurlewError?
        for validation in validations where failure == nil {
            failure = validation(request, sent, response, .streamed)
        }
        settle(failure, byTerminal: false, response)
    }

    private func settle(_ error: CurlewError?, byTerminal: Bool, _ response: LazyResponse?) {
        judgement.resolve(error.map { .rejected($0, byTerminal: byTerminal) } ?? .accepted)
        guard error == nil, let response else { return }
        let accepted = AcceptedHead(head: response.head)
        let streams = exchange.request.record.withLock { record in
            record.transfer.acceptedHead = accepted
            return record.extras?.hooks.streams ?? []
        }
        for stream in streams { stream.send(accepted) }
    }

    func untilReady() async { _ = await judgement.waitThroughCancellation() }

    // MARK: The body

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Disposition {
        if let disposition = exchange.holds(bytes) { return disposition }
        let disposition: Disposition
        switch judgement.value {
        case nil: return .pause
        case .accepted: disposition = channel.receive(bytes)
        case .rejected(let error, _): disposition = keepsExcerpt(bytes) ? .proceed : .abort(error)
        }
        switch disposition {
        case .proceed:
            exchange.request.received(bytes.count)
            exchange.emit(bytes)
        case .pause: break
        case .abort(let error): return exchange.abort(error)
        }
        return disposition
    }

    /// Stores bytes for the error. Returns `false` when the excerpt is complete.
    private func keepsExcerpt(_ bytes: UnsafeRawBufferPointer) -> Bool {
        excerpt.withLock { excerpt in
            excerpt.append(contentsOf: bytes.prefix(Self.excerptLimit - excerpt.count))
            return excerpt.count < Self.excerptLimit
        }
    }

    // MARK: The end

    func collected(_ error: CurlewError?, _ ended: EndedExchange) -> CollectedBody? {
        CollectedBody(body: .streamed, error: error, verdict: verdict)
    }

    private var verdict: CollectedBody.Verdict {
        switch judgement.value {
        case nil: return .open
        case .accepted: return .accepted
        case .rejected(var error, let byTerminal):
            error.responseBody = excerpt.withLock { $0 }
            return .rejected(error, byTerminal: byTerminal)
        }
    }
}

/// A head whose body is delivered.
struct AcceptedHead: Sendable {
    let head: ResponseHead
}
