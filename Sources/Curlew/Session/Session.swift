public import CurlewCore
internal import CurlewLocks
package import Dispatch
internal import Foundation

/// Creates requests, keeps track of the running ones, and owns the connections and stores that they share.
///
///     let user = try await Session.default.request("https://example.org/user").decode(User.self)
///
/// Creating a request is synchronous and starts nothing: the request runs when you await its result, or when you add
/// its first response handler. You do not have to close a session. Releasing the last reference closes its connections;
/// a running request keeps its session until it has ended.
public actor Session {
    /// A shared session with the default configuration.
    public static let `default` = Session()

    /// The settings that the requests of this session share.
    public nonisolated let configuration: SessionConfiguration
    /// The transport that carries out the exchanges.
    package nonisolated let transport: any Transport
    package nonisolated let context: SessionContext
    /// Holds requests that have handlers and wait for `resume()`: nothing else may refer to them.
    nonisolated let shelf = RequestShelf()
    nonisolated var registry: Lock<RequestRegistry> { context.registry }

    /// Evaluates the trust of servers instead of libcurl.
    package nonisolated let trustManager: ServerTrustManager?

    /// The error of every request, if the transport does not enforce a guard of the configuration.
    nonisolated let refusal: CurlewError?
    /// Resolved when the first call of `invalidate()` has closed the connections.
    private nonisolated let invalidation = OneShot<Void>()

    /// Creates a session.
    ///
    /// Without a `transport`, the session creates the one that the configuration describes. If you pass a transport,
    /// give it the server trust manager as well (`configuration.makeTransport(serverTrustManager:)`). If the
    /// configuration asks for a protection that your transport does not enforce (`Transport.enforcedGuards(of:)`),
    /// every request fails with `.unsupported`.
    public init(
        configuration: SessionConfiguration = .default,
        transport: (any Transport)? = nil,
        startRequestsImmediately: Bool = true,
        interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) {
        self.configuration = configuration
        trustManager = serverTrustManager
        let resilience = ResilienceControl(configuration.resilience)
        let network = transport ?? configuration.makeTransport(serverTrustManager: serverTrustManager)
        self.transport = configuration.caching(
            configuration.hedging(network, by: resilience), trustManager: serverTrustManager)
        refusal = transport.flatMap { configuration.refusal(of: $0, serverTrustManager) }
        context = SessionContext(
            configuration: configuration,
            resilience: resilience,
            interceptor: interceptor,
            redirectHandler: redirectHandler ?? configuration.decisions?.redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors,
            startsImmediately: startRequestsImmediately
        )
        if !eventMonitors.isEmpty { context.monitoredSession.object = self }
    }

    deinit {
        // Running requests hold the session, so the shelf has only requests that were never started.
        for request in shelf.removeAll() { request.end(with: .sessionReleased) }
        guard !registry.withLock({ $0.lifecycle.isClosed }) else { return }
        context.becameInvalid(SessionReference(identifier: configuration.identifier, session: nil))
    }

    // MARK: The registry

    /// The request whose current exchange has this identifier, or `nil`.
    public subscript(task: TaskIdentifier) -> Request? { registry.withLock { $0[task] }?.usersHandle }

    /// All requests that have started and not ended.
    public var activeRequests: [Request] { running.filter { !$0.isFinished }.map(\.usersHandle) }

    private var running: [Request] { registry.withLock { $0.activeRequests } }

    /// Throws if the session takes no requests.
    nonisolated func checkTakesRequests() throws(CurlewError) {
        if let refusal { throw refusal }
        guard registry.withLock({ $0.lifecycle.takesRequests }) else { throw .sessionInvalidated() }
    }

    // MARK: Ending

    /// Cancels every request and returns when they have ended.
    ///
    /// This method, ``drain()`` and ``invalidate()`` can be called from a request's own adapter, retrier or handler.
    /// They do not wait for that request, which cannot end before its code has returned, nor for other requests whose
    /// own code waits like this, or for a refresh of credentials. If the waiting task is cancelled, the wait ends
    /// early; a task that was cancelled before the call waits like any other.
    public func cancelAllRequests() async { await cancelRequests(upTo: .max) }

    /// Cancels the requests up to and including this serial number.
    func cancelRequests(upTo serial: UInt64) async {
        await UserCode.waiting {
            // In this order: a request joins the registry before it leaves the shelf.
            let waiting = shelf.all.filter { $0.serial <= serial }
            let running = running.filter { $0.serial <= serial }
            for request in waiting + running { request.cancel() }
            let isCleaningUp = Task.isCancelled
            // Another thread may be starting a request of the shelf, which has a run but has not joined the registry
            // yet. It is cancelled already, so it ends without being sent.
            for request in registry.withLock({ $0.unregistered(of: waiting) }) {
                _ = await request.joinRun(isCleaningUp: isCleaningUp)
            }
            await untilEnded(waiting + running, isCleaningUp: isCleaningUp)
        }
    }

    /// Refuses new requests and returns when the running ones have ended.
    ///
    /// Stream data without a reader is discarded; otherwise the sender would wait forever. A stream of which only the
    /// head was requested is cancelled: reading it later throws `.sessionClosed`.
    public func drain() async { await drain(isCleaningUp: Task.isCancelled) }

    /// With `isCleaningUp`, the wait continues although the task is cancelled.
    func drain(isCleaningUp: Bool) async {
        await UserCode.waiting {
            registry.withLock { $0.lifecycle.drainBegan() }
            for case let stream as DataStreamRequest in running { stream.endUnread() }
            for request in shelf.removeAll() { request.end(with: .sessionInvalidated()) }
            for request in running { request.cancelUnlessDemanded(with: .sessionInvalidated()) }
            guard await untilEnded(running, isCleaningUp: isCleaningUp) else { return }
            await (transport as? CachingTransport)?.drain()
        }
    }

    /// Cancels all requests, waits for their end and closes all connections. Later requests fail with `.sessionClosed`.
    /// Every call returns when that is done, except a later call from a request's own code: the first call may be
    /// waiting for that request.
    public func invalidate() async {
        await UserCode.waiting {
            let isFirst = registry.withLock { $0.lifecycle.closed() }
            for request in shelf.removeAll() { request.end(with: .sessionInvalidated()) }
            for request in running { request.cancel(with: .sessionInvalidated()) }
            await untilEnded(running)
            guard isFirst else {
                if !UserCode.isInside { _ = await invalidation.waitThroughCancellation() }
                return
            }
            await transport.shutdown()
            context.becameInvalid(SessionReference(identifier: configuration.identifier, session: self))
            invalidation.resolve(())
        }
    }

    /// Returns when those of `requests` that are running have ended; user code does not wait for requests whose own
    /// code waits. Returns `false` if the waiting task was cancelled before that.
    @discardableResult
    private func untilEnded(_ requests: [Request], isCleaningUp: Bool = Task.isCancelled) async -> Bool {
        let isUserCode = UserCode.isInside
        guard let ended = registry.withLock({ $0.wait(for: requests, isUserCode: isUserCode) }) else {
            return isCleaningUp || !Task.isCancelled
        }
        // A task that was cancelled before the call is cleaning up, so its wait is not cut short: no request may run
        // afterwards.
        if isCleaningUp {
            _ = await ended.waitThroughCancellation()
            return true
        }
        if await ended.wait() != nil { return true }
        registry.withLock { $0.stopWaiting(for: ended) }
        return false
    }
}

// The connections that the requests of a session share.
extension Session {
    /// The connections of the session at this moment, by origin.
    ///
    ///     let pool = await session.connections.totals
    ///     print("\(pool.inUse) of \(pool.open) connections in use, \(pool.waiting) requests wait")
    ///
    /// Cheap enough to be asked every second. Empty for a transport that is no ``PoolingTransport``.
    public nonisolated var connections: ConnectionSnapshot {
        get async { await transport.pooledConnections }
    }

    /// Opens connections to a server in advance, so that the next requests need not wait for DNS, TCP and TLS. Nothing
    /// is sent.
    ///
    ///     try await session.prewarm("https://api.example.com")
    ///
    /// When it returns, at least `count` connections are open, up to `maximumConnectionsPerHost`; idle ones that were
    /// open before count. A server that speaks HTTP/2 or HTTP/3 gets one. The connections follow the settings of the
    /// session: HSTS, proxy, trust evaluation, timeouts. Adapters, retriers and monitors are not involved. A relative
    /// URL means every one of the session's `endpoints`; if some cannot be reached, the error of the first is thrown
    /// after all were tried.
    ///
    /// Throws what a request would throw if no connection can be made, and `.unsupported` if the transport or the
    /// running libcurl cannot open connections in advance. A cancelled task throws `.cancelled`; connections that are
    /// up by then stay open.
    public nonisolated func prewarm(
        _ convertible: any URLConvertible, connections count: Int = 1
    ) async throws(CurlewError) {
        try checkTakesRequests()
        let requests = try connectionRequests(to: convertible)
        var failure: CurlewError?
        for request in requests {
            do throws(CurlewError) {
                try await transport.prewarmPool(for: request, connections: count)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Returns a request for each server that the URL may mean.
    private nonisolated func connectionRequests(
        to convertible: any URLConvertible
    ) throws(CurlewError) -> [TransferRequest] {
        let builder = TransferRequestBuilder(context: context, own: nil, purpose: .memory)
        do {
            return try context.absolutes(of: convertible.asURL()).map { url in
                try builder.build(
                    RequestSnapshot(url, .get, []), body: nil, task: TaskIdentifier(rawValue: 0),
                    attempt: 0, remaining: RequestDeadline.bound(configuration.timeouts.total).total)
            }
        } catch {
            throw ErrorWrapping.creation(error)
        }
    }
}

/// Runs `body` with a session that ends with it. Requests that are still running are then awaited, or cancelled if
/// `body` threw or the task is cancelled. Finally the session's connections are closed.
public func withSession<R>(
    configuration: SessionConfiguration = .default,
    transport: (any Transport)? = nil,
    startRequestsImmediately: Bool = true,
    interceptor: (any RequestInterceptor)? = nil,
    serverTrustManager: ServerTrustManager? = nil,
    redirectHandler: (any RedirectHandler)? = nil,
    cachedResponseHandler: (any CachedResponseHandler)? = nil,
    eventMonitors: [any EventMonitor] = [],
    _ body: (Session) async throws -> R
) async rethrows -> R {
    let session = Session(
        configuration: configuration,
        transport: transport,
        startRequestsImmediately: startRequestsImmediately,
        interceptor: interceptor,
        serverTrustManager: serverTrustManager,
        redirectHandler: redirectHandler,
        cachedResponseHandler: cachedResponseHandler,
        eventMonitors: eventMonitors
    )
    do {
        let result = try await body(session)
        await session.drain(isCleaningUp: false)
        await session.invalidate()
        return result
    } catch {
        await session.invalidate()
        throw error
    }
}

// For callers that do not wait, in other modules of this package.
extension Session {
    /// The unfinished requests in the order of their creation: those that run, and those that have handlers and wait
    /// for `resume()`.
    package var unfinishedRequests: [Request] {
        // In this order: a request joins the registry before it leaves the shelf.
        let waiting = shelf.all
        return Set(waiting).union(activeRequests).sorted { $0.serial < $1.serial }
    }

    /// Calls the closure asynchronously with all requests that have started and not ended.
    package nonisolated func passActiveRequests(to action: @escaping @Sendable (Set<Request>) -> Void) {
        Task { action(Set(await activeRequests)) }
    }

    /// Cancels the requests that exist at the time of the call, and calls the closure when all of them have ended.
    package nonisolated func cancelPresentRequests(
        completingOnQueue queue: DispatchQueue,
        completion: @escaping @Sendable () -> Void
    ) {
        // Requests that are created after this line are not cancelled.
        let serial = context.lastSerial
        let delivery = CallbackDelivery(queue: queue)
        Task {
            // The caller does not wait for this task, so the wait may include the request whose code has called.
            await UserCode.outside { await cancelRequests(upTo: serial) }
            delivery(completion)
        }
    }
}

extension Session: CustomReflectable {
    /// Empty: debuggers print every stored property of a type without a mirror, secrets included.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}

/// Requests with handlers that were not started. The session holds them, so that their handlers are called when it is
/// released at the latest.
final class RequestShelf: Sendable {
    private let requests = Lock<Set<Request>>([])

    func add(_ request: Request) { _ = requests.withLock { $0.update(with: request) } }

    func remove(_ request: Request) { _ = requests.withLock { $0.remove(request) } }

    var all: [Request] { requests.withLock { Array($0) } }

    func removeAll() -> [Request] { Array(requests.withLock { exchange(&$0, with: []) }) }
}

/// The life cycle of a session, which determines whether it accepts requests.
struct SessionLifecycle: Sendable {
    enum State: Sendable, Equatable {
        case open
        /// Running requests may finish; new ones are refused.
        case draining
        case closed
    }

    private(set) var state: State = .open

    mutating func drainBegan() {
        switch state {
        case .open: state = .draining
        case .draining, .closed: break
        }
    }

    /// Closes the session. Returns whether it was open or draining before.
    mutating func closed() -> Bool {
        switch state {
        case .open, .draining:
            state = .closed
            return true
        case .closed: return false
        }
    }

    var isClosed: Bool { state == .closed }

    var takesRequests: Bool {
        switch state {
        case .open: true
        case .draining, .closed: false
        }
    }
}
