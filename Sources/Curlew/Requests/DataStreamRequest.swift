public import CurlewCore
internal import CurlewLocks
package import Dispatch
public import Foundation
public import FoundationNetworking

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

    let channel: BodyChannel
    let reading: Lock<Reading>
    /// The handle of the run, if it is not the user's.
    private let runsHandle: WeakReference<DataStreamRequest>

    /// The readers of the body, and the calls that wait for the head.
    struct Reading {
        /// Whether a sequence has begun to read, or `head()` was called. The first of them starts the run, or joins it.
        var isAwaited = false
        /// Whether a sequence has begun to read the body.
        var hasReader = false
        /// The number of calls of `head()` that wait.
        var headsAwaited = 0
        /// The call that started the run, if the run does not hold the user's handle.
        var unreadRun: UnreadRun?
        /// Whether the session is draining: the request ends when its head has arrived and the body has no reader.
        var endsUnread = false
        /// The handlers that read the body.
        var handlers: [StreamHandler<Data>] = []
        /// The task that delivers chunks to the handlers.
        var pump: Task<Void, Never>?
        /// Whether the request announces that it expects an event stream.
        var wantsEvents = false
        /// Creates the successors of a reconnecting event stream, even after this request has ended.
        weak var session: Session?
        /// The successors of this request if its events reconnect. Created with the sequence.
        var succession: EventSuccession?

        /// Whether the session drains and the awaited body has no reader, so that the request must not wait for one.
        var isLeftUnread: Bool { endsUnread && isAwaited && !hasReader && headsAwaited == 0 }

        /// Whether nothing reads the body or waits for the head, so that only the user's handle keeps the run alive.
        var isUnread: Bool { unreadRun != nil && !hasReader && pump == nil && headsAwaited == 0 }

        /// Whether `head()` started the run, all its calls have ended, and nothing reads the body.
        var isLeftByHeads: Bool { unreadRun == .forHeads && isUnread }

        enum UnreadRun {
            /// `head()` started it.
            case forHeads
            /// `resume()` started it, before there were handlers.
            case resumed
        }
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
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        let reading = Lock(Reading())
        let runsHandle = WeakReference<DataStreamRequest>()
        let usersHandle = WeakReference<DataStreamRequest>()
        self.reading = reading
        self.runsHandle = runsHandle
        let channel = BodyChannel { (runsHandle.object ?? usersHandle.object)?.cancel() }
        self.channel = channel
        let kind = RequestKind(
            source: .own { _, _ in try Self.describe(convertible, wantsEvents: reading.withLock { $0.wantsEvents }) },
            bodyMaker: uploadable.map { BodyMaker(make: $0) },
            purpose: .stream,
            makeDelegate: { StreamTaskDelegate(channel, checksStatus: $0.checksStatus) },
            reader: ChannelReader(channel: channel, reading: reading)
        )
        super.init(
            kind, session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
        usersHandle.object = self
        reading.withLock { $0.session = session }
    }

    private init(ofRun original: DataStreamRequest) {
        convertible = original.convertible
        automaticallyCancelOnStreamError = original.automaticallyCancelOnStreamError
        channel = original.channel
        reading = original.reading
        runsHandle = original.runsHandle
        super.init(ofRun: original)
    }

    deinit {
        // The run that `head()` or `resume()` started continues, but without the user's handle its body cannot be read.
        if !isHandleOfRun, reading.withLock({ $0.isUnread }) { channel.leave() }
    }

    /// Makes the handle for a run that must not keep the user's handle alive.
    func handleOfRun() -> DataStreamRequest {
        let made = DataStreamRequest(ofRun: self)
        runsHandle.object = made
        return made
    }

    private static func describe(
        _ convertible: any URLRequestConvertible,
        wantsEvents: Bool
    ) throws -> URLRequest {
        var request = try convertible.asURLRequest()
        guard wantsEvents else { return request }
        if request.value(forHTTPHeaderField: "Accept") == nil {
            request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        }
        if request.value(forHTTPHeaderField: "Cache-Control") == nil {
            request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        }
        return request
    }
}

/// The readers of a stream's body: a sequence, or all handlers together.
private struct ChannelReader: ResponseReader {
    let channel: BodyChannel
    let reading: Lock<DataStreamRequest.Reading>

    func handleOfRun(for request: Request) -> Request {
        guard let made = (request as? DataStreamRequest)?.handleOfRun() else { return request }
        reading.withLock { $0.unreadRun = .resumed }
        return made
    }

    /// `false` once the reader of a sequence has bytes: it would get the beginning a second time. Handlers hear of each
    /// attempt.
    func allowsAnotherAttempt(of request: Request) -> Bool {
        guard reading.withLock({ $0.isAwaited }) else { return true }
        let exchange = request.record.withLock { $0.exchange }
        return exchange?.withLock { $0.acceptedHead == nil || $0.download.completed == 0 } ?? true
    }

    /// Cancels the successors of a reconnecting stream as well: the user has only the first request.
    func cancelled(with error: CurlewError) { reading.withLock { $0.succession }?.cancel(with: error) }

    func ended(with result: RunResult) { channel.finish(throwing: result.error) }

    func untilConsumed(of request: Request) async { await reading.withLock { $0.pump }?.value }
}

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
                let next = self.successor(in: session, after: reconnection.lastEventID)
                succession.add(next)
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

    /// Returns the whole body, for a response whose `head()` shows that there is nothing to iterate over. A body larger
    /// than the request's `maximumBodySize` is `.limitExceeded`.
    public func data() async throws(CurlewError) -> Data {
        var (reader, data) = (self.reader(), Data())
        while let chunk = try await reader.next() {
            guard chunk.count <= bodyLimit - data.count else {
                reader.leave()
                throw CurlewError.bodyTooLarge(bodyLimit)
            }
            data.append(chunk)
        }
        return data
    }

    /// Returns the head of the response before its body. Then read `chunks`, `lines` or `events`, or cancel the
    /// request; the server is kept waiting until you do, or until the session is drained. Cancelling this call cancels
    /// the request, unless something else has started it, reads its body or waits for its head.
    public func head() async throws(CurlewError) -> ResponseHead {
        let heads = stream(.bufferingOldest(1), last: { $0.exchange?.withLock { $0.acceptedHead } }) {
            (head: ResponseHead) in head
        }
        reading.withLock { $0.headsAwaited += 1 }
        // Resolved when the wait ends or is cancelled, whichever happens first.
        let end = OneShot<Void>()
        defer { if end.resolve(()) { headWaitEnded(isCancelled: false) } }
        startRun(reads: false)
        let head = await withTaskCancellationHandler {
            await heads.first { _ in true }
        } onCancel: {
            if end.resolve(()) { self.headWaitEnded(isCancelled: true) }
        }
        if let head { return head }
        let result = await joinRun()
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

    /// Starts the run in a separate task, unless an earlier call has. `reads` is `false` if the caller wants only the
    /// head. Leaving the iteration, or the end of its task, cancels the request.
    private func startRun(reads: Bool) {
        let isFirst = reading.withLock { reading in
            defer { reading.isAwaited = true }
            if reads { reading.hasReader = true }
            return !reading.isAwaited
        }
        guard isFirst else { return }
        let plan = beginAwaiting()
        // A call that only wants the head must not keep the user's handle alive: releasing the handle ends a run whose
        // body is not read.
        let run = reads ? self : handleOfRun()
        if !reads, case .drive = plan.action { reading.withLock { $0.unreadRun = .forHeads } }
        Task { _ = await run.driveOrJoin(plan, checksStatus: true) }
    }

    private func reader() -> StreamReader { StreamReader(channel) { self.startRun(reads: true) } }

    private func connection() -> StreamEvents.Connection {
        StreamEvents.Connection(
            reader: reader(),
            status: { self.head?.status },
            refusal: { self.record.withLock { $0.response }.flatMap(StreamEvents.refusal) }
        )
    }

    /// Returns the request that continues a reconnecting stream of events after the last event that arrived.
    private func successor(in session: Session, after lastEventID: String?) -> DataStreamRequest {
        let next = DataStreamRequest(
            ReconnectingRequest(base: convertible, lastEventID: lastEventID),
            session: session,
            interceptor: nil,
            shouldAutomaticallyResume: nil,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            uploadable: kind.bodyMaker?.make
        )
        if let options = record.withLock({ $0.extras?.options }) {
            _ = next.record.withLock { exchange(&$0.ensureExtras().options, with: options) }
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

// Validations run when the head has arrived; the body of a rejected response is not delivered. They run in order, and
// the first failure is the result.
extension DataStreamRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        addValidation { urlRequest, response, _ in
            guard let foundationResponse = response.value else { return .success(()) }
            return validation(urlRequest, foundationResponse)
        }
    }

    /// Accepts only these statuses.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(statusCode acceptable: S) -> Self where S.Element == Int {
        acceptStatuses(acceptable)
    }

    /// Accepts only these content types. `*` is a wildcard.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(
        contentType acceptable: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        acceptContentTypes { _ in acceptable() }
    }

    /// Accepts only statuses in 200..<300 and the content types in the request's `Accept` field.
    @discardableResult
    public func validate() -> Self { acceptUsualResponses() }
}

/// The outcome of a stream, for the handlers of another module of this package.
package struct StreamOutcome: Sendable {
    package let request: URLRequest?
    package let response: HTTPURLResponse?
    package let metrics: TransferMetrics?
    package let error: CurlewError?
}

// Handlers that read the body together. A sequence excludes them: the body has one reader.
extension DataStreamRequest {
    /// Returns the delivery for a handler on `queue`.
    package func delivery(on queue: DispatchQueue?) -> CallbackDelivery { CallbackDelivery(queue: queue, of: self) }

    /// Adds a handler. `prepare` makes the handler's work for each chunk as it was received, `complete` is called last.
    @discardableResult
    package func observe(
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ prepare: @escaping @Sendable (Data) -> @Sendable () -> Void,
        complete: @escaping @Sendable (StreamOutcome) -> Void
    ) -> Self {
        let handler = StreamHandler(prepare: prepare, delivery: delivery.ofMany, backlog: backlog)
        reading.withLock { $0.handlers.append(handler) }
        let isReader = startPump()
        add { [weak self] result in
            HandlerQueue.Serialized(error: nil) { [weak self] replacement in
                // A handler may have thrown after the last byte was received.
                let error = result.error ?? self?.error ?? (isReader ? nil : BodyChannel.wasRead)
                let outcome = StreamOutcome(
                    request: result.request?.urlRequest,
                    response: result.response?.value,
                    metrics: result.metrics,
                    error: replacement ?? error
                )
                delivery { complete(outcome) }
            }
        }
        keepHandle()
        return self
    }

    /// Returns the value of a chunk, or its error as a `CurlewError`.
    package static func serialized<Value: Sendable>(_ make: () throws -> Value) -> Result<Value, CurlewError> {
        do { return .success(try make()) } catch { return .failure(ErrorWrapping.serialization(error)) }
    }

    /// Notifies monitors of a serialized chunk, and cancels the request if that failed and the request asks for it.
    package func parsed<Value: Sendable>(_ result: Result<Value, CurlewError>, of chunk: Data) {
        eventSink?.emitChunk(ofBytes: chunk.count) { [self] in $0.request(self, didParseStream: result) }
        guard automaticallyCancelOnStreamError, case .failure = result else { return }
        cancel()
    }

    /// Cancels the request with the error of a handler.
    package func handlerFailed(_ error: any Error) {
        cancel(with: .serializerFailed(error))
    }

    /// Ends a request whose body has no reader, so that its session can be drained. If nothing awaits the body,
    /// it is discarded. If its head was requested, a later reader must not mistake the rest of the body for the whole,
    /// so the request is cancelled.
    func endUnread() {
        let (isDiscarded, isLeftUnread) = reading.withLock { reading in
            reading.endsUnread = true
            return (!reading.isAwaited && reading.pump == nil, reading.pump == nil && reading.isLeftUnread)
        }
        // A body that has ended does not delay the session, so it is kept for a later reader.
        if isDiscarded, !hasResult { startPump() }
        if isLeftUnread { cancel(with: .sessionInvalidated()) }
    }

    /// Starts to deliver chunks to handlers, including those that an ended request has buffered. The pump ends with the
    /// body. Returns `false` if a sequence reads the body, or has read it: then handlers get only the completion.
    @discardableResult
    private func startPump() -> Bool {
        let pump = StreamPump(channel: channel) { [reading] in reading.withLock { $0.handlers } }
        return reading.withLock { reading in
            guard reading.pump == nil else { return true }
            guard channel.claim() else { return false }
            reading.pump = Task { await pump.run() }
            return true
        }
    }
}
