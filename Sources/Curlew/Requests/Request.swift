public import CurlewCore
internal import CurlewLocks
public import Foundation
package import FoundationNetworking

/// A request to a server: its options, its state and the history of its attempts.
///
/// Creating a request starts nothing. Awaiting a result runs it in the awaiting task; adding a response handler, or
/// calling `resume()`, runs it in a task that Curlew starts. It runs once: later awaiters and handlers get the same
/// result. All members can be used from any thread.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public class Request: @unchecked Sendable {
    /// The state of a request, from its creation to its end.
    public typealias State = RequestState

    /// The decision about a response, made when its head has arrived.
    public enum ResponseDisposition: Sendable {
        /// Receive the body.
        case allow
        /// Cancel the request.
        case cancel
        /// Receive the body into a file, as a download does. Means `allow` if there is no body, and for downloads and
        /// streams.
        case becomeDownload
    }

    let record: Lock<RequestRecord>
    let context: SessionContext
    let kind: RequestKind
    /// The number of the request in its session, in the order of creation.
    let serial: UInt64
    /// The `shouldAutomaticallyResume` of the request. `nil` leaves the decision to the session.
    package let automaticallyResumes: Bool?
    /// The user's handle, if this one belongs to the run.
    private let original: WeakReference<Request>?

    init(
        _ kind: consuming RequestKind,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) {
        context = session.context
        self.kind = kind
        serial = context.nextSerial()
        automaticallyResumes = shouldAutomaticallyResume
        original = nil
        record = Lock(making: { RequestRecord(session: .strong(session), interceptor: interceptor) })
    }

    /// Creates another handle of the same request for its run: the user's handle can then be released while the run
    /// continues.
    ///
    /// `resume()`, `head()`, `opened()` and `send(_:)` of streams and WebSockets return while the run continues. If the
    /// run held the user's handle, that handle would never be released, and the connection of a dropped request would
    /// stay open. Sequences, iterators, waiting methods and handlers hold the user's handle. When it is released, no
    /// reader is left, and its `deinit` ends the run.
    init(ofRun users: Request) {
        context = users.context
        kind = users.kind
        serial = users.serial
        automaticallyResumes = users.automaticallyResumes
        original = WeakReference(users)
        record = users.record
    }

    /// The user's handle, or this one if the user's has been released.
    var usersHandle: Request { original?.object ?? self }

    /// Whether this handle belongs to the run.
    var isHandleOfRun: Bool { original != nil }

    // MARK: State

    /// The current state.
    public var state: State { record.withLock { $0.lifecycle.state } }
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

    /// The monitors of the session, of the request and of the process. `nil` if there are none.
    var eventSink: EventSink? { record.withLock { $0.eventSink(in: context) } }

    // MARK: Starting and suspending

    /// Starts the request, or continues it after `suspend()`.
    @discardableResult
    public func resume() -> Self {
        let (resumption, task) = record.withLock { ($0.lifecycle.resume(), $0.reportedTask) }
        if let resumption { finishResuming(resumption, reporting: task) }
        return self
    }

    /// Suspends or resumes the current exchange to match the state of the request.
    func relaySuspension() {
        SuspensionRelay.run { done in
            record.withLock { record in
                let isSuspended = record.lifecycle.state == .suspended
                return record.exchange?.withLock { $0.relay.next(after: done, isSuspended: isSuspended) }
            }
        }
    }

    /// Starts or continues the run. `task` is the exchange that monitors knew when the request was resumed.
    func finishResuming(_ resumption: RequestLifecycle.Resumption, reporting task: TaskIdentifier?) {
        eventSink?.emit { [self] in $0.requestDidResume(self) }
        switch resumption {
        case .start: UnstructuredDriver.startRun(of: self)
        case .proceed(let waiter):
            relaySuspension()
            waiter?.resolve(())
            emitChange(of: task, to: .resumed, eventSink)
        }
    }

    /// Suspends the request: no byte is transferred until `resume()`. Only the total timeout continues.
    @discardableResult
    public func suspend() -> Self {
        let (didSuspend, task) = record.withLock { ($0.lifecycle.suspend(), $0.currentTask) }
        guard didSuspend else { return self }
        relaySuspension()
        eventSink?.emit { [self] in $0.requestDidSuspend(self) }
        emitChange(of: task, to: .suspended, eventSink)
        return self
    }

    // MARK: Cancelling

    /// Ends the request with `.cancelled`, unless it has ended. It is not retried.
    @discardableResult
    public func cancel() -> Self {
        cancel(with: .cancelled)
        return self
    }

    /// Ends the request with `error`; its state is `.cancelled`.
    func cancel(with error: CurlewError) {
        if let cancellation = record.withLock({ $0.cancel(with: error) }) { finishCancelling(cancellation, error) }
        kind.reader?.cancelled(with: error)
    }

    /// Ends the request with `error`, unless there is demand for it (`RequestLifecycle.hasDemand`).
    func cancelUnlessDemanded(with error: CurlewError) {
        let cancellation = record.withLock { $0.lifecycle.hasDemand ? nil : $0.cancel(with: error) }
        if let cancellation { finishCancelling(cancellation, error) }
    }

    private func finishCancelling(_ cancellation: RequestRecord.Cancellation, _ error: CurlewError) {
        eventSink?.emit { [self] in $0.requestDidCancel(self) }
        if let ending = cancellation.ending { return endWithoutRun(ending) }
        guard let driver = cancellation.driver else { return }
        // Emitted before the control is cancelled, which may end the exchange at once: monitors hear of the
        // cancellation first.
        emitChange(of: cancellation.task, to: .cancelled, eventSink)
        driver.waiter?.resolve(())
        driver.userCode?.cancel()
        driver.ownedTask?.cancel()
        cancellation.exchange?.withLock { $0.relay.control }?.cancel(with: error)
    }

    /// The error of the cancelled request.
    var cancellation: CurlewError { record.withLock { $0.lifecycle.cancellation } ?? .cancelled }

    /// Records the failure of an attempt, for retriers to look at. An earlier error of the attempt is kept.
    func recordFailure(_ error: CurlewError) { record.withLock { $0.error = $0.error ?? error } }

    /// Reports a change of the exchange to the monitors, if there is an exchange.
    func emitChange(of task: TaskIdentifier?, to change: TaskChange, _ events: EventSink?) {
        guard let task else { return }
        events?.emit { [self] in $0.request(self, didChangeTask: task, to: change) }
    }

    // MARK: The session's shelf

    /// Puts the request on the session's shelf until it is resumed. The session then holds the request, which refers to
    /// the session weakly.
    func shelve() {
        let session = record.withLock { record -> Session? in
            guard case .idle = record.lifecycle.run, case .strong(let session) = record.link else { return nil }
            record.link = .shelved(WeakReference(session))
            // Under the lock: otherwise `unshelve()` on another thread could remove the request before it is on the
            // shelf.
            session.shelf.add(self)
            return session
        }
        // Released without the lock. If this was the last reference, the session's `deinit` ends the shelved requests.
        _ = session
    }

    /// Takes the request off the shelf. It holds its session until the run has ended.
    func unshelve() {
        let session = record.withLock { record -> Session? in
            guard case .shelved(let weak) = record.link, let session = weak.object else { return nil }
            record.link = .strong(session)
            return session
        }
        session?.shelf.remove(self)
    }

    // MARK: The result

    /// Ends a request that has not started. Does nothing if it runs or has ended.
    func end(with error: CurlewError) {
        let ending = record.withLock { record -> RequestRecord.Ending? in
            switch record.lifecycle.run {
            case .idle:
                if record.error == nil { record.error = error }
                return record.end(with: RunResult(error: error))
            case .running, .ended: return nil
            }
        }
        if let ending { endWithoutRun(ending) }
    }

    private func endWithoutRun(_ ending: RequestRecord.Ending) {
        notify(ending)
        if record.withLock({ $0.lifecycle.beginHandlers() }) { UnstructuredDriver.startHandlers(of: self) }
    }

    /// Records the result and resumes all that wait for it. With `isLast`, nothing but handlers can follow: the request
    /// is finished, and monitors are notified.
    func publish(_ result: RunResult, isLast: Bool = false) {
        let (ending, events) = record.withLock { record in
            if isLast, record.error == nil { record.error = result.error }
            let ending = record.end(with: result)
            if isLast, !record.lifecycle.runsHandlers { record.lifecycle.finish() }
            return (ending, isLast ? record.eventSink(in: context) : nil)
        }
        events?.emit { [self] in $0.requestDidFinish(self) }
        notify(ending)
    }

    private func notify(_ ending: RequestRecord.Ending) {
        if case .shelved(let weak) = ending.link { weak.object?.shelf.remove(self) }
        kind.reader?.ended(with: ending.result)
        // Observers get the last progress value before awaiters and streams hear of the end.
        ending.hooks?.uploadProgress?.finish()
        ending.hooks?.downloadProgress?.finish()
        ending.awaitedResult?.resolve(ending.result)
        for stream in ending.hooks?.streams ?? [] { stream.finish() }
    }

    // MARK: Identity

    /// The identifier of the request, created when it is first read.
    public var id: UUID { record.withLock { $0.id } }

    /// A text that you attach to the request: for logs, and for finding a download again in another process.
    public var taskDescription: String? {
        get { record.withLock { $0.extras?.taskDescription } }
        set { record.withLock { $0.ensureExtras().taskDescription = newValue } }
    }
}

extension Request: Hashable {
    /// Returns whether both are handles of the same request. The run of a stream or a WebSocket has a handle that is
    /// not the user's, and monitors may be given that one, so compare requests with `==` instead of `===`.
    public static func == (lhs: Request, rhs: Request) -> Bool { RequestKey(lhs) == RequestKey(rhs) }

    public func hash(into hasher: inout Hasher) { hasher.combine(RequestKey(self)) }
}

/// Identifies a request by any of its handles.
package struct RequestKey: Hashable, Sendable {
    private let context: ObjectIdentifier
    private let serial: UInt64

    package init(_ request: Request) {
        context = ObjectIdentifier(request.context)
        serial = request.serial
    }
}

extension Request: CustomStringConvertible {
    /// The method, the URL without secrets, and the status once there is one.
    public var description: String {
        let (request, response) = record.withLock { ($0.history.lastRequest, $0.response) }
        guard let request, let url = request.url else { return "No request created yet." }
        let line = "\(request.method.rawValue) \(Redaction.redacted(url).absoluteString)"
        return response.map { "\(line) (\($0.head.status))" } ?? line
    }
}

extension Request: CustomReflectable {
    /// Empty: debuggers print every stored property of a type without a mirror, secrets included.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// Properties that CurlewAlamofire reads in addition to the public ones.
extension Request {
    /// The request's session, in the form in which events refer to it.
    package var sessionReference: SessionReference {
        SessionReference(
            identifier: context.configuration.identifier,
            session: context.monitoredSession.object ?? record.withLock { $0.link.session }
        )
    }

    /// Whether response handlers were added.
    package var hasResponseHandlers: Bool { record.withLock { !$0.handlers.isEmpty } }

    /// The URL of the file that contains the body. `nil` if the body is not in a file.
    package var bodyFileURL: URL? { record.withLock { $0.body }.fileURL }

    /// The final `URLRequest` of the latest attempt, before redirects. `nil` before the first one exists.
    package var describedRequest: URLRequest? { record.withLock { $0.history.lastFinalRequest } }

    /// The latest exchange.
    package var latestTask: TaskIdentifier? { record.withLock { $0.history.lastTask } }

    /// Whether the request has a result.
    package var hasResult: Bool { record.withLock { $0.lifecycle.result != nil } }

    /// The configuration of the request's session.
    package var sessionConfiguration: SessionConfiguration { context.configuration }

    /// The credentials with which the last `URLRequest` is sent to `url`: after a redirect, those that the redirect
    /// kept; otherwise the request's, or else the session's for that origin.
    package func authentication(for url: URL) -> TransferAuthentication? {
        record.withLock { $0.authentication(for: url, in: context) }
    }

    /// The session's default fields with which the last `URLRequest` is sent to `url`.
    package func defaultHeaders(for url: URL) -> HTTPHeaders {
        record.withLock { $0.defaultHeaders(for: url, in: context) }
    }
}

extension ResponseHead {
    /// The head as an `HTTPURLResponse`. `nil` if Foundation cannot express it.
    package func response(from url: URL) -> HTTPURLResponse? { LazyResponse(url: url, head: self).value }
}
