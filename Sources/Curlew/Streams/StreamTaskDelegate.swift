internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// Delivers a response's body while it arrives, once its head has been accepted.
///
/// If the head is rejected, the beginning of the body is stored for the error, and the rest is not received.
final class StreamTaskDelegate: TaskDelegate {
    private let channel: BodyChannel
    /// Whether a status outside 200..<300 is rejected, unless the request has its own validation.
    private let checksStatus: Bool
    /// The decision about the head.
    private let verdict = OneShot<CollectedBody.Verdict>()
    private let excerpt = Lock(Data())
    private static let excerptLimit = 64 * 1024

    init(_ channel: BodyChannel, checksStatus: Bool) {
        self.channel = channel
        self.checksStatus = checksStatus
    }

    // MARK: The head

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        let control = exchange.control
        if let control { channel.producerStarts(control) }
        let (validations, acceptsAny) = exchange.request.record.withLock { record in
            (record.extras?.options.validations ?? [], record.extras?.options.acceptsAnyStatus == true)
        }
        guard !validations.isEmpty else {
            // Without user code, the head is checked on the transport's thread.
            let method = exchange.outgoing.snapshot.method
            let error =
                checksStatus && !acceptsAny ? StatusCheck.error(for: response, to: method, body: .none) : nil
            decide(error, isStatusCheckOnly: true, response, exchange)
            return .proceed
        }
        guard let control else {
            // A transport without a control cannot be paused, so the validations run on its thread.
            validate(response, by: validations, exchange)
            return .proceed
        }
        Handoff()(to: .global()) { [self] in
            validate(response, by: validations, exchange)
            control.resumeReceiving()
        }
        return .pause
    }

    private func validate(_ response: LazyResponse, by validations: [RequestOptions.Validation], _ exchange: Exchange) {
        let (request, sent) = (exchange.request, exchange.request.request)
        var failure: CurlewError?
        for validation in validations where failure == nil {
            failure = validation(request, sent, response, .streamed)
        }
        decide(failure, isStatusCheckOnly: false, response, exchange)
    }

    private func decide(_ error: CurlewError?, isStatusCheckOnly: Bool, _ response: LazyResponse, _ exchange: Exchange)
    {
        verdict.resolve(error.map { .rejected($0, isStatusCheckOnly: isStatusCheckOnly) } ?? .accepted)
        guard error == nil else { return }
        // Both steps happen under one lock: a call of `head()` either finds the head or is notified.
        let streams = exchange.request.record.withLock { record in
            exchange.state.withLock { $0.isHeadAccepted = true }
            return record.extras?.hooks.streams ?? []
        }
        for stream in streams { stream.send(response.head) }
    }

    func untilReady() async { _ = await verdict.waitThroughCancellation() }

    // MARK: The body

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let disposition: Disposition
        switch verdict.value ?? .open {
        case .open: return .pause
        case .accepted: disposition = channel.receive(bytes)
        case .rejected(let error, _): disposition = storeExcerpt(bytes) ? .proceed : .abort(error)
        }
        if case .proceed = disposition { exchange.received(bytes) }
        return disposition
    }

    /// Stores bytes for the error. Returns `false` when the excerpt is complete.
    private func storeExcerpt(_ bytes: UnsafeRawBufferPointer) -> Bool {
        excerpt.withLock { excerpt in
            excerpt.append(contentsOf: bytes.prefix(Self.excerptLimit - excerpt.count))
            return excerpt.count < Self.excerptLimit
        }
    }

    // MARK: The end

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        // A validation may still be running although the exchange has ended. It must not run a second time here, and
        // must not give the head to a reader once another attempt has begun.
        await untilReady()
        return CollectedBody(body: .streamed, error: error, verdict: explainedVerdict)
    }

    private var explainedVerdict: CollectedBody.Verdict {
        guard case .rejected(var error, let isStatusCheckOnly)? = verdict.value else { return verdict.value ?? .open }
        error.responseBody = excerpt.withLock { $0 }
        return .rejected(error, isStatusCheckOnly: isStatusCheckOnly)
    }
}
