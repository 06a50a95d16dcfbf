public import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// One thing to fetch, send or stream: its options, its state and the history of its attempts.
///
/// A request is cold when it is made. Awaiting a result runs it in the awaiting task; adding a response
/// handler, or `resume()`, runs it in a task of Curlew's. It runs once: later awaiters and handlers get the
/// same result. All members can be used from any thread.
// SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
public class Request: @unchecked Sendable {
    /// How far a request has come.
    public typealias State = RequestState

    /// What to do with a response whose head has come.
    public enum ResponseDisposition: Sendable {
        /// Receive the body.
        case allow
        /// Cancel the request.
        case cancel
        /// Receive the body into a file, as a download does. Means `allow` where there is no body, and for downloads
        /// and streams.
        case becomeDownload
    }

    let record: Lock<RequestRecord>
    let context: SessionContext
    /// Tells requests that were made earlier from those that were made later.
    let serial: UInt64
    /// What the request was told about its start; nil leaves it to the session.
    package let automaticallyResumes: Bool?

    init(session: Session, interceptor: __shared (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?) {
        context = session.context
        serial = context.nextSerial()
        automaticallyResumes = shouldAutomaticallyResume
        record = Lock(making: { RequestRecord(session: .strong(session), interceptor: interceptor) })
    }

    /// Another handle of the same request, for its run: the user's handle can then be released while the run goes on.
    init(ofRun original: Request) {
        context = original.context
        serial = original.serial
        automaticallyResumes = original.automaticallyResumes
        record = original.record
    }

    /// The handle that users have, as long as there is one.
    var usersHandle: Request { self }

    // MARK: What a kind of request differs in

    /// The request as the user described it, made anew for every try.
    func makeURLRequest() throws -> URLRequest { throw CurlewError.createURLRequestFailed(error: NoDescription()) }

    /// The same where it will not be looked at; nil where only a `URLRequest` can say it.
    func makePlainRequest() throws -> VisibleRequest? { nil }

    /// What has to be done for the body of the next try before `makeUpload`, and may take long.
    var bodyPreparation: (@Sendable () async -> Void)? { nil }

    /// The body of the next try, where it is not the one inside the `URLRequest`.
    func makeUpload(events: EventSink?) throws(CurlewError) -> UploadRequest.Uploadable? { nil }

    /// The URL of an error as its user knows it.
    func urlInErrors(_ url: URL?) -> URL? { url }

    /// What carries out its exchanges.
    func transport(in session: Session) -> any Transport { session.transport }

    /// Whether the cookies of the last response were kept when its head came.
    var hasRememberedFields: Bool { false }

    /// Collects the next exchange: in memory, unless the kind of request has another place for it.
    func makeDelegate(
        for exchange: consuming ExchangeContext, _ outgoing: TransferRequest, of run: Run
    ) -> any TaskDelegate {
        DataTaskDelegate(exchange)
    }

    /// The result is there, and was not told yet.
    func resultArrived(_ result: RunResult) {}

    /// Before handlers are completed: what was handed on piece by piece has been taken, and what is told before the
    /// response has been told.
    func untilBodyIsTaken() async {}

    /// Where its user wants the file, where the kind of request has one.
    var ownDestination: DownloadRequest.Destination? { nil }

    /// What the bytes are for.
    var purpose: TransferPurpose { .memory }

    /// What a later download can go on with.
    var producedResumeData: Data? { nil }

    /// Whether the kind of request has something to put away.
    var hasToCleanUp: Bool { false }

    /// After the last attempt: puts it away.
    func cleanUp() async {}

    /// Removes what a request that ends before it ran was given ahead of its start. Must not wait.
    func cleanUpWithoutRun() {}

    /// Whether another try would do no harm: what was handed on cannot be taken back.
    var mayBeTriedAgain: Bool { true }

    /// Whether a failed exchange is followed by another at once: not a retry, but one that asks differently.
    func triesAgainAtOnce() -> Bool { false }

    /// Whether it may connect once more, although it went well.
    var mayReconnect: Bool { false }
    /// Whether its transport can answer no other challenge than one for Basic.
    var offersOnlyBasic: Bool { false }

    /// How long to wait before the request connects once more, nil where it does not: not a retry, since an attempt may have
    /// gone well.
    func pauseBeforeReconnecting(after result: RunResult) -> Duration? { nil }

    /// A kind that makes no URLRequest.
    private struct NoDescription: Error {}

    // MARK: State

    /// How far the request has come.
    public var state: State { record.withLock { $0.state } }
    /// Whether the request has not been started yet.
    public var isInitialized: Bool { state == .initialized }
    /// Whether the request is running, or waits for its turn.
    public var isResumed: Bool { state == .resumed }
    /// Whether the request is suspended.
    public var isSuspended: Bool { state == .suspended }
    /// Whether the request was cancelled.
    public var isCancelled: Bool { state == .cancelled }
    /// Whether the request has ended other than by cancellation.
    public var isFinished: Bool { state == .finished }

    /// Whether the first response handler starts this request.
    var startsImmediately: Bool { automaticallyResumes ?? context.startsImmediately }

    /// Session monitors, then the request's own; nil where there are none.
    var eventSink: EventSink? {
        EventSink(session: context.monitorQueues, own: record.withLock { $0.extras?.hooks.monitorQueues } ?? [])
    }

    /// Runs the request, or lets it go on after `suspend()`.
    @discardableResult
    public func resume() -> Self {
        if let resumption = record.withLock({ $0.resume() }) { carryOut(resumption) }
        return self
    }

    /// Tells the exchange whether it is to stand still: in the order in which that was decided, but without the lock, since
    /// transports are not Curlew's alone.
    func tellControl() {
        while let (control, isSuspended) = record.withLock({ $0.nextTold() }) {
            if isSuspended { control.suspend() } else { control.resume() }
            record.withLock { $0.wasTold() }
        }
    }

    func carryOut(_ resumption: RequestRecord.Resumption) {
        eventSink?.emit { [self] in $0.requestDidResume(self) }
        switch resumption {
        case .start:
            unshelve()
            HandlerRun.start(self, drives: true)
        case .proceed(let task, let hold):
            tellControl()
            hold?.resolve(())
            emitChange(of: task, to: .resumed, eventSink)
        }
    }

    /// Holds the request: no byte moves until `resume()`. Timeouts go on.
    @discardableResult
    public func suspend() -> Self {
        let (didSuspend, task) = record.withLock { ($0.suspend(), $0.startedTask) }
        guard didSuspend else { return self }
        tellControl()
        eventSink?.emit { [self] in $0.requestDidSuspend(self) }
        emitChange(of: task, to: .suspended, eventSink)
        return self
    }

    /// Ends the request with `.cancelled`, unless it has ended. It is not retried.
    @discardableResult
    public func cancel() -> Self {
        cancel(with: .explicitlyCancelled)
        return self
    }

    /// Ends the request with `error`; its state is `.cancelled`.
    func cancel(with error: CurlewError) {
        guard let cancellation = record.withLock({ $0.cancel(with: error) }) else { return }
        eventSink?.emit { [self] in $0.requestDidCancel(self) }
        switch cancellation {
        case .hasEnded: break
        case .end(let ending, let describing):
            describing?.cancel()
            endWithoutRun(ending)
        case .endByRun(let task, let describing):
            emitChange(of: task, to: .cancelled, eventSink)
            describing.cancel()
            unshelve()
            HandlerRun.start(self, drives: true)
        case .stop(let parts):
            // Before the exchange hears of it, whose end may come at once.
            emitChange(of: parts.task, to: .cancelled, eventSink)
            parts.hold?.resolve(())
            parts.foreignCall?.cancel()
            for task in parts.tasks { task.cancel() }
            parts.control?.cancel(with: error)
        }
    }

    /// Tells monitors of a change of the exchange, if there is one.
    func emitChange(of task: TaskIdentifier?, to change: TaskChange, _ events: EventSink?) {
        guard let task else { return }
        events?.emit { [self] in $0.request(self, didChangeTask: task, to: change) }
    }

    /// Ends a request that never ran.
    func end(with error: CurlewError) {
        let ending = record.withLock { record -> RequestRecord.Ending? in
            switch record.run {
            case .idle, .prepared:
                if record.error == nil { record.error = error }
                if let task = record.run.preparation?.task { record.ownExtras.unusedTask = task }
                return record.end(with: RunResult(error: error))
            case .running, .ended: return nil
            }
        }
        if let ending { endWithoutRun(ending) }
    }

    private func endWithoutRun(_ ending: RequestRecord.Ending) {
        cleanUpWithoutRun()
        tell(ending)
        if record.withLock({ $0.handlers.begin() }) { HandlerRun.start(self, drives: false) }
    }

    // MARK: The session's shelf

    /// Leaves the request to the session until it is resumed.
    func shelve() {
        let session = record.withLock { record -> Session? in
            switch record.run {
            case .idle(.strong(let session)), .prepared(.strong(let session), _):
                record.run.link(.shelved(WeakSession(session: session)))
                // Under the lock, so that it is not taken off the shelf before it is there.
                session.shelf.put(self)
                return session
            case .idle, .prepared, .running, .ended: return nil
            }
        }
        // If this was the last reference, the session ends here, and its requests with it.
        _ = session
    }

    /// Back from the shelf: the session stays until the run has ended.
    func unshelve() {
        let session = record.withLock { record -> Session? in
            guard case .shelved(let weak) = record.run.link, let session = weak.session else { return nil }
            record.run.link(.strong(session))
            return session
        }
        session?.shelf.take(self)
    }

    /// Keeps the result, and wakes all that wait for it. `isLast`: only handlers may still be at work, and monitors are told.
    func settle(_ result: RunResult, isLast: Bool = false) {
        let ending = record.withLock { record in
            if isLast, record.error == nil { record.error = result.error }
            let ending = record.end(with: result)
            if isLast, !record.handlers.isRunning { record.finish() }
            return ending
        }
        if isLast {
            EventSink(session: context.monitorQueues, own: ending.hooks?.monitorQueues ?? [])?
                .emit { [self] in $0.requestDidFinish(self) }
        }
        tell(ending)
    }

    private func tell(_ ending: RequestRecord.Ending) {
        if case .shelved(let weak) = ending.run.link { weak.session?.shelf.take(self) }
        resultArrived(ending.result)
        // Before the others hear of the end: the last value is older than that.
        ending.hooks?.uploadProgress?.finish()
        ending.hooks?.downloadProgress?.finish()
        ending.awaitedResult?.resolve(ending.result)
        for stream in ending.hooks?.streams ?? [] { stream.finish() }
    }

    // MARK: Identity

    /// The identity of the request, created when it is first read.
    public var id: UUID { record.withLock { $0.identity.value() } }
}

extension Request: Hashable {
    /// Whether both are the same request. The run of a stream or a WebSocket has a handle of its own: monitors may be given that
    /// one, so compare requests with `==` instead of `===`.
    public static func == (lhs: Request, rhs: Request) -> Bool { RequestKey(lhs) == RequestKey(rhs) }

    public func hash(into hasher: inout Hasher) { hasher.combine(RequestKey(self)) }
}

/// Names a request, whichever handle of it one has.
package struct RequestKey: Hashable, Sendable {
    private let context: ObjectIdentifier
    private let serial: UInt64

    package init(_ request: Request) {
        context = ObjectIdentifier(request.context)
        serial = request.serial
    }
}

extension Request: CustomStringConvertible {
    /// Method, URL without secrets, and status once there is one.
    public var description: String {
        let (request, response) = record.withLock { ($0.history.lastRequest, $0.transfer.response) }
        guard let request, let url = request.url else { return "No request created yet." }
        let line = "\(request.method?.rawValue ?? "GET") \(Redaction.redacted(url).absoluteString)"
        return response.map { "\(line) (\($0.head.status))" } ?? line
    }
}

/// A UUID costs microseconds and most requests are never asked for theirs.
struct LazyIdentity: Sendable {
    private var made: UUID?

    mutating func value() -> UUID {
        if let made { return made }
        let new = UUID()
        made = new
        return new
    }
}

extension Request: CustomReflectable {
    /// Debuggers print every stored property of what has no mirror, secrets included.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
