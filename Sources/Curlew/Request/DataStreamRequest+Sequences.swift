public import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The body as a sequence. A status outside 200..<300 is an error unless the request has its own `validate(…)` or
// `acceptingAnyStatus()`.
extension DataStreamRequest {
    /// The bytes of the body as they arrive.
    public var chunks: StreamChunks { StreamChunks(open: { self.reader() }) }

    /// The lines of the body, without line breaks.
    public var lines: StreamLines { StreamLines(open: { self.reader() }, maximumLength: bodyLimit) }

    /// The server-sent events of the body.
    public var events: StreamEvents {
        // A request that has ended has no link to its session, so the session is read from `reading`.
        let (succession, session) = reading.withLock { reading in
            reading.wantsEvents = true
            let succession = reading.succession ?? EventSuccession()
            reading.succession = succession
            return (succession, reading.session)
        }
        return StreamEvents(
            open: { reconnection in
                guard let reconnection else { return self.connection() }
                guard let session else { return .withoutSession }
                let next = self.again(in: session, after: reconnection.lastEventID)
                succession.goesOn(with: next)
                return next.connection()
            },
            cancelled: succession.cancelled,
            maximumEventSize: bodyLimit
        )
    }

    /// The values of a body that has one JSON value on each line (NDJSON).
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) -> StreamValues<Value> {
        StreamValues(open: { self.reader() }, maximumLength: bodyLimit, decoder: decoder)
    }

    /// Returns the head of the response before its body. Then read `chunks`, `lines` or `events`, or cancel the
    /// request; the server is kept waiting until you do, or until the session is drained. Cancelling this call cancels
    /// the request, unless something else has started it, reads its body or waits for its head.
    public func head() async throws(CurlewError) -> ResponseHead {
        let heads = stream(.bufferingOldest(1), last: { $0.acceptedHead }) { (head: AcceptedHead) in head.head
        }
        reading.withLock { $0.headsAwaited += 1 }
        // Resolved by the end or the cancellation of the wait, of which only the first counts.
        let end = OneShot<Void>()
        defer { if end.resolve(()) { headWaitEnded(isCancelled: false) } }
        StreamRun.start(self, reads: false)
        let head = await withTaskCancellationHandler {
            await heads.first { _ in true }
        } onCancel: {
            if end.resolve(()) { self.headWaitEnded(isCancelled: true) }
        }
        if let head { return head }
        let result = await joined()
        if let error = result.error { throw error }
        // A response without a body may end before a validation has accepted its head.
        if let head = result.response?.head { return head }
        throw .cancelled
    }

    private func headWaitEnded(isCancelled: Bool) {
        let end = reading.withLock { reading -> CurlewError? in
            reading.headsAwaited -= 1
            if isCancelled, reading.isLeftByHeads { return .cancelled }
            return reading.isLeftUnread ? .sessionInvalidated() : nil
        }
        if let end { cancel(with: end) }
    }

    private func reader() -> StreamReader { StreamReader(channel) { StreamRun.start(self, reads: true) } }

    private func connection() -> StreamEvents.Connection {
        StreamEvents.Connection(
            reader: reader(),
            status: { self.head?.status },
            refusal: { self.record.withLock { $0.response }.flatMap(StreamEvents.refusal) }
        )
    }

    private func again(in session: Session, after lastEventID: String?) -> DataStreamRequest {
        let next = DataStreamRequest(
            ReconnectingRequest(base: convertible, lastEventID: lastEventID),
            session: session,
            interceptor: nil,
            shouldAutomaticallyResume: nil,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            uploadable: kind.upload?.make
        )
        if let options = record.withLock({ $0.extras?.options }) {
            _ = next.record.withLock { exchange(&$0.ownExtras.options, with: options) }
        }
        return next.expectingEvents()
    }

    private func expectingEvents() -> DataStreamRequest {
        reading.withLock { $0.wantsEvents = true }
        return self
    }
}

extension StreamEvents.Connection {
    /// A connection that cannot be opened, because the session is gone.
    fileprivate static var withoutSession: Self {
        let channel = BodyChannel()
        channel.finish(throwing: .sessionReleased)
        return Self(reader: StreamReader(channel) {}, status: { nil })
    }
}

/// The request with the identifier of the last event that was received.
private struct ReconnectingRequest: URLRequestConvertible {
    let base: any URLRequestConvertible
    let lastEventID: String?

    func asURLRequest() throws -> URLRequest {
        var request = try base.asURLRequest()
        if let lastEventID, !lastEventID.isEmpty {
            request.setValue(lastEventID, forHTTPHeaderField: "Last-Event-ID")
        }
        return request
    }
}
