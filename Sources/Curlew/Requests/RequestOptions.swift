public import CurlewCore
internal import CurlewLocks
package import Dispatch
public import Foundation
public import FoundationNetworking

// Options that are set before the request starts. If set later, they apply to the steps that follow.
extension Request {
    /// The result of a validation.
    public typealias ValidationResult = Result<Void, any Error>

    /// Changes the timeouts of this request.
    ///
    ///     request.timeouts { $0.total = .seconds(3) }
    @discardableResult
    public func timeouts(_ change: (inout Timeouts) -> Void) -> Self {
        var timeouts = timeouts
        change(&timeouts)
        let changed = timeouts
        record.withLock { $0.ownExtras.options.timeouts = changed }
        return self
    }

    /// Sets the maximum size of the body in memory, or of one line, value or event of a stream.
    @discardableResult
    public func maximumBodySize(_ bytes: Int) -> Self {
        record.withLock { $0.ownExtras.options.maximumBodySize = max(0, bytes) }
        return self
    }

    /// Accepts every status.
    @discardableResult
    public func acceptingAnyStatus() -> Self {
        record.withLock { $0.ownExtras.options.acceptsAnyStatus = true }
        return self
    }

    /// Sets when the request asks with `Expect: 100-continue` whether the server wants the body. By default it asks for
    /// bodies above 1 MiB, and for a body of unknown length only if it can be sent once and the credentials wait for a
    /// challenge. An `Expect` field of the request takes precedence.
    @discardableResult
    public func expectContinue(_ expectation: ExpectContinue) -> Self {
        record.withLock { $0.ownExtras.options.expectContinue = expectation }
        return self
    }

    // MARK: Credentials

    /// Sets the user name and password that answer the server's challenges, with the strongest scheme the server
    /// offers.
    ///
    /// Once the server has accepted them, the session also uses them for later challenges of the same protection space
    /// (origin and realm), for requests that bring no credentials. With `persistence: .none` they are used for this
    /// request only. The session never stores them permanently: `.permanent` and `.synchronizable` mean the same as
    /// `.forSession`.
    @discardableResult
    public func authenticate(
        username: String,
        password: String,
        persistence: URLCredential.Persistence = .forSession
    ) -> Self {
        authenticate(TransferAuthentication(username: username, password: password), persistence)
    }

    /// Authenticates this request with a given scheme.
    @discardableResult
    public func authenticate(with authentication: TransferAuthentication) -> Self {
        authenticate(authentication, .none)
    }

    package func authenticate(
        _ authentication: TransferAuthentication,
        _ persistence: URLCredential.Persistence
    ) -> Self {
        record.withLock { record in
            record.ownExtras.options.authentication = authentication
            record.ownExtras.options.keepsAuthentication = persistence != .none
        }
        return self
    }

    // MARK: Late composition

    /// Sets the handler of this request's redirects. The last one set is used.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        // The former handler is released without the lock: its `deinit` may use the request.
        _ = record.withLock { exchange(&$0.ownExtras.options.redirectHandler, with: handler) }
        return self
    }

    /// Adds an interceptor after the existing ones.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        record.withLock { record in
            record.ownExtras.options.add(adapter: interceptor)
            record.ownExtras.options.retriers.append(interceptor)
        }
        return self
    }

    /// Adds an adapter after the existing ones.
    @discardableResult
    @inlinable
    public func adapt(using adapter: any RequestAdapter) -> Self {
        add(adapter: adapter)
        return self
    }

    /// Adds a retrier after the existing ones.
    @discardableResult
    @inlinable
    public func retry(using retrier: any RequestRetrier) -> Self {
        add(retrier: retrier)
        return self
    }

    // The inlinable functions discard their result, so these return none.
    @usableFromInline
    func add(adapter: any RequestAdapter) { record.withLock { $0.ownExtras.options.add(adapter: adapter) } }

    @usableFromInline
    func add(retrier: any RequestRetrier) { record.withLock { $0.ownExtras.options.retriers.append(retrier) } }

    /// Adds a monitor for the events of this request, after the session's monitors and the existing ones.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        var queues = context.monitorQueues + (record.withLock { $0.extras?.hooks.monitorQueues } ?? [])
        let known = queues.count
        queues.add(monitor)
        let added = queues[known...]
        record.withLock { $0.ownExtras.hooks.monitorQueues += added }
        return self
    }

    // MARK: Creation

    /// Sets a closure that is called with the final `URLRequest` of every attempt, immediately if there is one already.
    /// The last closure set is used.
    @discardableResult
    package func tellCreatedRequests(
        on queue: DispatchQueue,
        _ handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onRequestCreation) { $0.history.lastFinalRequest }
    }

    /// Sets a closure that is called with the identifier of every exchange, immediately if there is one already. The
    /// last closure set is used.
    @discardableResult
    package func tellCreatedTasks(
        on queue: DispatchQueue,
        _ handler: @escaping @Sendable (TaskIdentifier) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onTaskCreation) { $0.history.lastTask }
    }

    /// Stores a hook, and calls it with the last value if there is one.
    private func set<Value>(
        _ hook: Hook<Value>,
        at path: WritableKeyPath<RequestHooks, Hook<Value>?>,
        last: (RequestRecord) -> Value?
    ) -> Self {
        let (last, _) = record.withLock { record in
            (last(record), exchange(&record.ownExtras.hooks[keyPath: path], with: hook))
        }
        if let last { hook.call(last) }
        return self
    }
}

extension Request {
    /// Sets whether the request may share a connection with others at the same time (HTTP/2 and later), and wait for
    /// one that is being set up. By default it may.
    @discardableResult
    public func multiplexing(_ isAllowed: Bool) -> Self {
        record.withLock { $0.ownExtras.options.multiplexes = isAllowed }
        return self
    }

    /// Sends the request without a proxy, whatever the session and the environment say. For requests that follow no
    /// redirect: a redirect may use a proxy again, or bypass it for another host.
    @discardableResult
    func bypassingProxy() -> Self {
        record.withLock { $0.ownExtras.options.bypassesProxy = true }
        return self
    }
}

extension Request {
    /// Marks the request as one with which an OAuth 2 client asks for a token.
    func asTokenRequest() -> Self {
        record.withLock { $0.ownExtras.options.isTokenRequest = true }
        return self
    }

    var timeouts: Timeouts { record.withLock { $0.extras?.options.timeouts } ?? context.configuration.timeouts }

    /// The maximum size of a body in memory, or of a line or event of a stream.
    var bodyLimit: Int {
        record.withLock { $0.extras?.options.maximumBodySize } ?? context.configuration.maximumBodySize
    }
}

/// The options of a request beyond what it sends.
struct RequestOptions {
    var timeouts: Timeouts?
    var maximumBodySize: Int?
    /// Whether awaiting methods accept every status.
    var acceptsAnyStatus = false
    var authentication: TransferAuthentication?
    /// Whether the session stores the credentials for other requests once the server has accepted them.
    var keepsAuthentication = false
    var redirectHandler: (any RedirectHandler)?
    var cachePolicy: CachePolicy?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var adapters: [any RequestAdapter] = []
    var retriers: [any RequestRetrier] = []
    var exchangeAdapters: [any ExchangeAdapter] = []
    var middleware: [any RequestMiddleware] = []
    var validations: [Validation] = []
    var expectContinue = ExpectContinue.automatic
    var multiplexes = true
    /// Sends the request without a proxy.
    var bypassesProxy = false
    /// Whether an OAuth 2 client asks for a token with the request. It carries the client's own credentials:
    /// authentication interceptors leave it unchanged, and it waits for none of their refreshes.
    var isTokenRequest = false
    /// The trailer fields that follow the body; `nil` if there are none.
    var trailers: RequestTrailers?
    var priority: RequestPriority?
    /// The value of the field `Idempotency-Key`.
    var idempotencyKey: String?
    /// Whether the user decides about the body when its head has arrived.
    var asksAboutHead = false

    /// Adds an adapter. The first one reserves room for a chain.
    mutating func add(adapter: any RequestAdapter) {
        if adapters.isEmpty { adapters.reserveCapacity(12) }
        adapters.append(adapter)
    }

    /// A validation for every kind of body.
    typealias Validation = @Sendable (Request, URLRequest?, LazyResponse, ReceivedBody) -> CurlewError?
}

/// Closures that are called during the run.
struct RequestHooks {
    var taskDescription: String?
    var monitorQueues: [MonitorQueue] = []
    var uploadProgress: ProgressReporter?
    var downloadProgress: ProgressReporter?
    var onRequestCreation: Hook<URLRequest>?
    var onTaskCreation: Hook<TaskIdentifier>?
    var onHead: HeadHook?
    var onInformational: InformationalHook?
    var onCURL: CURLHook?
    /// Streams of the request's values, which end with the request.
    var streams: [any RequestStream] = []
}

/// The options and hooks of one request. A class, so that an absent value costs one pointer in every request. Protected
/// by the request's lock.
final class RequestExtras {
    var options = RequestOptions()
    var hooks = RequestHooks()
}

/// The statuses that a validation accepts, copied from any sequence of numbers.
struct StatusSet: Sequence, Sendable {
    private let statuses: Set<Int>

    init(_ acceptable: some Sequence<Int>) {
        // `200...` is infinite, and 999 is the highest status.
        if let open = acceptable as? PartialRangeFrom<Int> {
            statuses = Set(Swift.min(open.lowerBound, 1000)..<1000)
        } else {
            statuses = Set(acceptable)
        }
    }

    func makeIterator() -> Set<Int>.Iterator { statuses.makeIterator() }

    func contains(_ status: Int) -> Bool { statuses.contains(status) }
}

// Fields that follow a body, in both directions.
extension Request {
    /// The trailer fields of the last response, which follow its body: with HTTP/1.1 chunked bodies and HTTP/2.
    ///
    /// `nil` until the response has ended, and if it did not end completely. Empty if it ended without trailer fields,
    /// and for a response from the cache, which stores none. A stream has them after the last element of its body.
    /// Fields that are needed before the body, such as `Content-Length`, `Set-Cookie` and `WWW-Authenticate`, are
    /// dropped (RFC 9110, 6.5.1).
    public var trailers: HTTPHeaders? { receivedTrailers.map(TrailerFields.permitted) }

    /// The names of the trailer fields of the last response that were dropped.
    var droppedTrailers: [String] {
        receivedTrailers?.map(\.name).filter { !TrailerFields.permits($0) } ?? []
    }

    private var receivedTrailers: HTTPHeaders? {
        record.withLock { $0.exchange?.withLock { $0.trailers } }
    }

    /// Sends trailer fields after the body, such as a digest that is complete only with the last byte.
    ///
    ///     session.upload(rows, to: url, headers: ["Trailer": "Content-Digest"])
    ///         .sendingTrailers { ["Content-Digest": digest.field] }
    ///
    /// `make` is called each time the body has been sent to its end, on the transport's thread: it must not block.
    ///
    /// - The body must be streamed, without a length: any other request fails with `.invalidBody` before it is sent.
    /// - libcurl sends trailer fields only over HTTP/1.1, so the request uses that; a session that excludes it fails
    ///   the request with `.unsupported`.
    /// - A field that is needed before the body, such as `Content-Length` or `Authorization`, ends the request with
    ///   `.invalidHeader` (RFC 9110, 6.5.1), and so do more than 64 KiB of fields. The server has then received an
    ///   incomplete body.
    /// - A redirect that drops the body drops them as well. The last closure set is used.
    @discardableResult
    public func sendingTrailers(_ make: @escaping @Sendable () -> HTTPHeaders) -> Self {
        let trailers = RequestTrailers(make)
        // The former closure is released without the lock: a `deinit` of an object that it holds may use the request.
        _ = record.withLock { exchange(&$0.ownExtras.options.trailers, with: trailers) }
        return self
    }
}

extension Request {
    /// Sets the priority: the order in which requests wait for the session's ``Resilience``, and the field `Priority`
    /// (RFC 9218) for the server, unless the request has one.
    @discardableResult
    public func priority(_ priority: RequestPriority) -> Self {
        record.withLock { $0.ownExtras.options.priority = priority }
        return self
    }

    /// Sends the field `Idempotency-Key`, the same in all attempts, so that a server that knows it carries the request
    /// out once. ``RetryPolicy`` retries the request whatever its method is.
    ///
    ///     session.request(orders, method: .post, parameters: order).idempotencyKey().retry(using: RetryPolicy())
    ///
    /// The default is a new UUID. A field that the request has takes precedence.
    @discardableResult
    public func idempotencyKey(_ key: String = UUID().uuidString) -> Self {
        record.withLock { $0.ownExtras.options.idempotencyKey = key }
        return self
    }

    var priority: RequestPriority { record.withLock { $0.extras?.options.priority } ?? .normal }

    var hasIdempotencyKey: Bool { record.withLock { $0.extras?.options.idempotencyKey } != nil }
}

extension RequestOptions {
    /// Adds the fields that the options ask for.
    func addFields(to headers: inout HTTPHeaders) throws(CurlewError) {
        if let value = priority?.fieldValue, !headers.contains(name: "Priority") {
            headers.append(name: "Priority", value: value)
        }
        guard let key = idempotencyKey, !headers.contains(name: "Idempotency-Key") else { return }
        let field = HTTPHeader(name: "Idempotency-Key", value: key)
        guard field.isValid, !key.isEmpty else { throw .invalidHeader(field) }
        headers.append(name: field.name, value: field.value)
    }
}
