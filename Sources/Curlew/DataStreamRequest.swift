internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A request whose response body is consumed while it arrives.
///
///     for try await line in session.streamRequest(url).lines { print(line) }
///
/// The body has one reader: a sequence, or all handlers together. A slow reader stops the sender. Leaving the
/// loop, or cancelling its task, cancels the request. A response that is not accepted is not handed on.
// SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
public final class DataStreamRequest: Request, @unchecked Sendable {
    /// The description of the request, converted to a `URLRequest` for every attempt.
    public let convertible: any URLRequestConvertible
    /// Whether a chunk that cannot be serialized cancels the request.
    public let automaticallyCancelOnStreamError: Bool

    /// Makes the body of every try; nil where it is the one inside the `URLRequest`.
    let makeUploadable: (@Sendable () throws -> UploadRequest.Uploadable)?
    let channel: BodyChannel
    let reading: Lock<Reading>
    private let handles: Lock<RequestHandles<DataStreamRequest>>
    private let isHandleOfRun: Bool

    /// How the body is read.
    struct Reading {
        /// Whether it is for a sequence: one has begun to read it, or the head was asked for. That has started the run.
        var hasSequence = false
        /// Whether a sequence has begun to read it.
        var hasReader = false
        /// Calls that wait for the head.
        var headsAwaited = 0
        /// Whether the run was started by such a call.
        var isDrivenForHeads = false
        /// The session drains: the request ends where its head is there and nothing reads its body.
        var endsUnread = false
        /// The handlers that read it.
        var consumers: [StreamConsumer] = []
        /// Hands chunks to handlers.
        var pump: Task<Void, Never>?
        /// Whether the request says that it expects an event stream.
        var wantsEvents = false
        /// Where requests that follow this one are made, also when this one has ended.
        weak var session: Session?
        /// What follows this request where its events reconnect; made with the sequence.
        var succession: EventSuccession?

        /// Whether the body has no reader, and the request must not wait for one.
        var isLeftUnread: Bool { endsUnread && hasSequence && !hasReader && headsAwaited == 0 }

        /// Whether the last of the calls that the run is for has ended, and nothing reads the body.
        var isLeftByHeads: Bool { isDrivenForHeads && !hasReader && pump == nil && headsAwaited == 0 }
    }

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        automaticallyCancelOnStreamError: Bool,
        uploadable: (@Sendable () throws -> UploadRequest.Uploadable)? = nil
    ) {
        self.convertible = convertible
        makeUploadable = uploadable
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        reading = Lock(Reading())
        let handles = Lock(RequestHandles<DataStreamRequest>())
        self.handles = handles
        isHandleOfRun = false
        channel = BodyChannel { handles.withLock { $0.ofRun ?? $0.users }?.cancel() }
        super.init(session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
        handles.withLock { $0.users = self }
        reading.withLock { $0.session = session }
    }

    private init(ofRun original: DataStreamRequest) {
        convertible = original.convertible
        automaticallyCancelOnStreamError = original.automaticallyCancelOnStreamError
        makeUploadable = original.makeUploadable
        channel = original.channel
        reading = original.reading
        handles = original.handles
        isHandleOfRun = true
        super.init(ofRun: original)
    }

    deinit {
        // The run that `head()` has started goes on, and nothing can read its body any more.
        if !isHandleOfRun, reading.withLock({ $0.isLeftByHeads }) { channel.leave() }
    }

    /// Makes the handle for a run that must not keep the user's handle alive.
    func handleOfRun() -> DataStreamRequest {
        let made = DataStreamRequest(ofRun: self)
        handles.withLock { $0.ofRun = made }
        return made
    }

    override var usersHandle: DataStreamRequest { handles.withLock { $0.users } ?? self }

    override var purpose: TransferPurpose { .stream }

    override func makeURLRequest() throws -> URLRequest {
        var request = try convertible.asURLRequest()
        guard reading.withLock({ $0.wantsEvents }) else { return request }
        if request.value(forHTTPHeaderField: "Accept") == nil {
            request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        }
        if request.value(forHTTPHeaderField: "Cache-Control") == nil {
            request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        }
        return request
    }

    override func makeUpload(events: EventSink?) throws(CurlewError) -> UploadRequest.Uploadable? {
        guard let makeUploadable else { return nil }
        do {
            let made = try makeUploadable()
            _ = record.withLock { exchange(&$0.history.uploadable, with: made) }
            return made
        } catch {
            throw ErrorWrapping.uploadable(error)
        }
    }

    /// The reader of a sequence would get the beginning a second time. Handlers are told about each try.
    override var mayBeTriedAgain: Bool {
        guard reading.withLock({ $0.hasSequence }) else { return true }
        return record.withLock { $0.transfer.acceptedHead == nil || $0.transfer.download.completed == 0 }
    }

    override func makeDelegate(
        for exchange: consuming ExchangeContext, _ outgoing: TransferRequest, of run: Run
    ) -> any TaskDelegate {
        StreamTaskDelegate(exchange, channel, run.rules)
    }

    /// The handle is that of the whole stream: what has followed this request, or would, is cancelled with it.
    override func cancel(with error: CurlewError) {
        super.cancel(with: error)
        reading.withLock { $0.succession }?.cancel(with: error)
    }

    override func resultArrived(_ result: RunResult) { channel.finish(throwing: result.error) }

    override func untilBodyIsTaken() async { await reading.withLock { $0.pump }?.value }
}
