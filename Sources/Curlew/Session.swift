public import CurlewCore
internal import CurlewFailures
internal import CurlewLocks

/// Makes requests, keeps track of the running ones and owns what they share.
///
///     let user = try await Session.default.request("https://example.org/user").decode(User.self)
///
/// The factories are synchronous and start nothing: a request runs when its result is awaited, or when its
/// first response handler is added. A session need not be closed. Dropping the last reference closes its
/// connections; a running request keeps its session until it has ended.
public actor Session {
    /// The session of the free functions.
    public static let `default` = Session()

    /// What the requests of this session have in common.
    public nonisolated let configuration: SessionConfiguration
    /// What carries the exchanges out.
    public nonisolated let transport: any Transport
    /// Whether the first response handler starts a request.
    public nonisolated let startRequestsImmediately: Bool
    /// When a request's `URLRequest` is made.
    public nonisolated var requestSetup: RequestSetup { context.requestSetup }
    /// Adapts and retries every request of the session, before the request's own interceptor.
    public nonisolated var interceptor: (any RequestInterceptor)? { context.interceptor }
    /// Decides about redirects where a request has no handler of its own.
    public nonisolated var redirectHandler: (any RedirectHandler)? { context.redirectHandler }
    /// Decides about responses that are to be stored, where a request has no handler of its own.
    public nonisolated var cachedResponseHandler: (any CachedResponseHandler)? { context.cachedResponseHandler }

    nonisolated let context: SessionContext
    /// Requests that wait for `resume()` with handlers: nothing else may hold them.
    nonisolated let shelf = RequestShelf()
    /// Behind a lock: what joins and leaves must not wait for the actor, on every thread at once.
    private nonisolated let registry = Lock(RequestRegistry())

    /// Judges servers in place of libcurl.
    public nonisolated let serverTrustManager: ServerTrustManager?

    /// Why no request may go over the transport.
    private nonisolated let refusal: CurlewError?

    /// A session over the transport that the configuration describes, or over one of your own, which then has to
    /// be given the server trust manager itself: `configuration.makeTransport(serverTrustManager:)`. Where the
    /// configuration sets a guard that your transport does not enforce, every request fails with `.unsupported`
    /// (`Transport.enforcedGuards(of:)`).
    public init(
        configuration: SessionConfiguration = .default,
        transport: (any Transport)? = nil,
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) {
        self.configuration = configuration
        self.serverTrustManager = serverTrustManager
        self.transport = configuration.caching(
            transport ?? configuration.makeTransport(serverTrustManager: serverTrustManager))
        refusal = transport.flatMap { configuration.refusal(of: $0, serverTrustManager) }
        self.startRequestsImmediately = startRequestsImmediately
        context = SessionContext(
            configuration: configuration,
            interceptor: interceptor,
            redirectHandler: redirectHandler ?? configuration.hooks?.redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors,
            startsImmediately: startRequestsImmediately,
            requestSetup: requestSetup
        )
    }

    deinit {
        // Running requests hold the session: only those that were never started can be left.
        for request in shelf.empty() { request.end(with: .sessionDeinitialized) }
        guard !registry.withLock({ $0.lifecycle.isClosed }) else { return }
        context.becameInvalid(SessionReference(identifier: configuration.identifier, session: nil))
    }

    // MARK: The registry

    /// The request whose attempt has this identifier, while that attempt lives.
    public subscript(task: TaskIdentifier) -> Request? { registry.withLock { $0[task] } }

    /// Everything whose run has started and not ended, or that was set up ahead of its start.
    public var activeRequests: [Request] {
        switch requestSetup {
        case .lazy: running
        case .eager: Array(Set(running).union(shelf.all))
        }
    }

    private var running: [Request] { registry.withLock { $0.activeRequests } }

    /// A run begins: its request joins, its first attempt gets a name. One step for both.
    nonisolated func join(_ request: Request) throws(CurlewError) -> TaskIdentifier {
        if let refusal { throw refusal }
        let early = request.isSetUpAhead ? request.earlyTask : nil
        let task = try registry.withLock { registry throws(CurlewError) in try registry.join(request, as: early) }
        context.monitors?.requestJoined()
        return task
    }

    /// A name for an exchange that is set up ahead of its start.
    nonisolated func reserveTask() throws(CurlewError) -> TaskIdentifier {
        if let refusal { throw refusal }
        return try registry.withLock { registry throws(CurlewError) in try registry.reserve() }
    }

    /// The next attempt of a run.
    nonisolated func nextTask(of request: Request, after last: TaskIdentifier) -> TaskIdentifier {
        registry.withLock { $0.nextTask(of: request, after: last) }
    }

    /// A run has ended, with all that belongs to it.
    nonisolated func leave(_ request: Request, last: TaskIdentifier) {
        context.monitors?.requestLeft()
        for waiter in registry.withLock({ $0.leave(request, last: last) }) { waiter.resume() }
    }

    // MARK: Ending

    /// Cancels every request and returns when every one has ended.
    public func cancelAllRequests() async { await cancelRequests(upTo: .max) }

    /// Cancels those that had been made when so many had.
    func cancelRequests(upTo serial: UInt64) async {
        let waiting = shelf.all.filter { $0.serial <= serial }
        let running = running.filter { $0.serial <= serial }
        for request in waiting + running { request.cancel() }
        // One that was set up has to run to its end.
        for request in waiting { _ = await request.joined() }
        await untilEnded(waiting + running)
    }

    /// Takes no new request and returns when the running ones have ended. A streamed body that was resumed and that
    /// is not read is thrown away: its sender would wait for ever.
    public func drain() async {
        registry.withLock { $0.lifecycle.drainBegan() }
        for case let stream as DataStreamRequest in running { stream.discardUnread() }
        for request in shelf.empty() { request.end(with: .sessionInvalidated(error: nil)) }
        await untilEnded(running)
        await (transport as? CachingTransport)?.drain()
    }

    /// Cancels everything, waits for it and closes every connection. Later requests fail with `.sessionClosed`.
    public func invalidate() async {
        let isFirst = registry.withLock { $0.lifecycle.closed() }
        for request in shelf.empty() { request.end(with: .sessionInvalidated(error: nil)) }
        for request in running { request.cancel(with: .sessionInvalidated(error: nil)) }
        await untilEnded(running)
        guard isFirst else { return }
        await transport.shutdown()
        context.becameInvalid(SessionReference(identifier: configuration.identifier, session: self))
    }

    private func untilEnded(_ requests: [Request]) async {
        await withCheckedContinuation { continuation in
            let waits = registry.withLock { $0.wait(for: requests, with: continuation) }
            if !waits { continuation.resume() }
        }
    }
}

extension Session: CustomReflectable {
    /// Debuggers print every stored property of what has no mirror, secrets included.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
