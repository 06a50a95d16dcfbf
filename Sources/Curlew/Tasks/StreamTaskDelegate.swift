internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Hands a response's body on while it arrives, once its head was found acceptable.
///
/// Of a response that is not, the beginning is kept for the error, and the rest is not waited for.
// SAFETY: as for `TaskDelegate`: one owner at a time. What is judged elsewhere goes through `judgement`.
final class StreamTaskDelegate: TaskDelegate, @unchecked Sendable {
    private let channel: BodyChannel
    private let rules: RunRules
    /// What was found about the head.
    private let judgement = OneShot<Judgement>()
    private var excerpt = Data()
    private static let excerptLimit = 64 * 1024

    private enum Judgement: Sendable {
        case accepted
        case rejected(CurlewError, byTerminal: Bool)
    }

    init(
        request: DataStreamRequest,
        task: TaskIdentifier,
        url: URL,
        events: EventSink?,
        channel: BodyChannel,
        rules: RunRules
    ) {
        self.channel = channel
        self.rules = rules
        super.init(request: request, task: task, url: url, events: events)
    }

    override func willStart(_ control: any TransferControl) {
        channel.producerStarts(control)
        super.willStart(control)
    }

    override func begin(_ head: ResponseHead) -> Disposition {
        let (validations, acceptsAny, response, control) = request.record.withLock { record in
            (
                record.extras?.options.validations ?? [], record.extras?.options.acceptsAnyStatus == true,
                record.transfer.response, record.run.exchange?.control
            )
        }
        guard let response, !validations.isEmpty else {
            // Without code of the user's there is nothing to leave this thread for.
            let mustCheck = rules.checksStatus && !acceptsAny && validations.isEmpty
            let error = mustCheck ? response.flatMap { StatusCheck.error(for: $0, body: .none) } : nil
            settle(error, byTerminal: true, response)
            return .proceed
        }
        guard let control else {
            // A transport that gives no control cannot be paused, and has no loop that must not be held up.
            judge(response, by: validations)
            return .proceed
        }
        Handoff()(to: .global()) { [self] in
            judge(response, by: validations)
            control.resumeReceiving()
        }
        return .pause
    }

    private func judge(_ response: LazyResponse, by validations: [RequestOptions.Validation]) {
        let sent = request.lastRequest
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
        let streams = request.record.withLock { record in
            record.transfer.acceptedHead = accepted
            return record.extras?.hooks.streams ?? []
        }
        for stream in streams { stream.send(accepted) }
    }

    override func untilReady() async { _ = await judgement.waitThroughCancellation() }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        switch judgement.value {
        case nil: return .pause
        case .accepted: return channel.receive(bytes)
        case .rejected(let error, _):
            let room = Self.excerptLimit - excerpt.count
            excerpt.append(contentsOf: bytes.prefix(room))
            return excerpt.count < Self.excerptLimit ? .proceed : .abort(error)
        }
    }

    override var verdict: (CurlewError?, Bool)? {
        switch judgement.value {
        case nil: return nil
        case .accepted: return (nil, false)
        case .rejected(var error, let byTerminal):
            error.responseBody = excerpt
            return (error, byTerminal)
        }
    }

    override func finish(_ error: CurlewError?) async -> Result<ReceivedBody, CurlewError> {
        request.keep(.streamed)
        return error.map { .failure($0) } ?? .success(.streamed)
    }
}

/// A head whose body is being handed on.
struct AcceptedHead: Sendable {
    let head: ResponseHead
}
