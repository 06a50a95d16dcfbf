internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A request whose response body is consumed while it arrives.
///
///     for try await line in session.streamRequest(url).lines { print(line) }
///
/// The body has one reader: a sequence, or all handlers together. A slow reader slows down the sender. Leaving the
/// loop, or cancelling its task, cancels the request. The body of a response that is not accepted reaches no reader.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class DataStreamRequest: Request, @unchecked Sendable {
    /// The description of the request, converted to a `URLRequest` for every attempt.
    public let convertible: any URLRequestConvertible
    /// Whether a chunk that cannot be serialized cancels the request.
    public let automaticallyCancelOnStreamError: Bool

    /// Makes the body of every attempt. `nil` if it is the one inside the `URLRequest`.
    let makeUploadable: (@Sendable () throws -> UploadRequest.Uploadable)?
    let channel: BodyChannel
    let reading: Lock<Reading>
    private let handles: Lock<RequestHandles<DataStreamRequest>>
    private let isHandleOfRun: Bool

    /// The readers of the body, and the calls that wait for the head.
    struct Reading {
        /// Whether a sequence or `head()` has claimed the body, which starts the run.
        var hasSequence = false
        /// Whether a sequence has begun to read the body.
        var hasReader = false
        /// The number of calls of `head()` that wait.
        var headsAwaited = 0
        /// Whether the run was started by `head()`.
        var isDrivenForHeads = false
        /// Whether the session is draining: the request ends when its head has arrived and the body has no reader.
        var endsUnread = false
        /// The handlers that read the body.
        var consumers: [StreamConsumer] = []
        /// The task that delivers chunks to the handlers.
        var pump: Task<Void, Never>?
        /// Whether the request announces that it expects an event stream.
        var wantsEvents = false
        /// Creates the successors of a reconnecting event stream, also after this request has ended.
        weak var session: Session?
        /// The successors of this request if its events reconnect. Created with the sequence.
        var succession: EventSuccession?

        /// Whether the session drains and the body has no reader, so that the request must not wait for one.
        var isLeftUnread: Bool { endsUnread && hasSequence && !hasReader && headsAwaited == 0 }

        /// Whether the last call of `head()` has ended, although the run was started for it, and the body has no
        /// reader.
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
        // The run that `head()` started continues, but without the user's handle its body cannot be read.
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

    /// `false` once the reader of a sequence has bytes: it would get the beginning a second time. Handlers hear of each
    /// attempt.
    override var mayBeTriedAgain: Bool {
        guard reading.withLock({ $0.hasSequence }) else { return true }
        return record.withLock { $0.transfer.acceptedHead == nil || $0.transfer.download.completed == 0 }
    }

    override func makeDelegate(
        for exchange: consuming ExchangeContext, _ outgoing: TransferRequest, of run: Run
    ) -> any TaskDelegate {
        StreamTaskDelegate(exchange, channel, run.rules)
    }

    /// Cancels the successors of a reconnecting stream as well: the user has only the first request.
    override func cancel(with error: CurlewError) {
        super.cancel(with: error)
        reading.withLock { $0.succession }?.cancel(with: error)
    }

    override func resultArrived(_ result: RunResult) { channel.finish(throwing: result.error) }

    override func untilBodyIsTaken() async { await reading.withLock { $0.pump }?.value }
}
