public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// The options of a request beyond what it sends.
struct RequestOptions {
    /// A validation for every kind of body.
    typealias Validation = @Sendable (Request, URLRequest?, LazyResponse, ReceivedBody) -> CurlewError?

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
    var resilience: RequestResilience?
    /// The value of the field `Idempotency-Key`.
    var idempotencyKey: String?
    var urlTemplate: String?
    /// Whether the user decides about the body when its head has arrived.
    var asksAboutHead = false

    /// Adds an adapter. The first one reserves room for a chain.
    mutating func add(adapter: any RequestAdapter) {
        if adapters.isEmpty { adapters.reserveCapacity(12) }
        adapters.append(adapter)
    }

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
        record.withLock { $0.ensureExtras().options.timeouts = changed }
        return self
    }

    /// Sets the maximum size of the body in memory, or of one line, value or event of a stream.
    @discardableResult
    public func maximumBodySize(_ bytes: Int) -> Self {
        record.withLock { $0.ensureExtras().options.maximumBodySize = max(0, bytes) }
        return self
    }

    /// Accepts every status.
    @discardableResult
    public func acceptingAnyStatus() -> Self {
        record.withLock { $0.ensureExtras().options.acceptsAnyStatus = true }
        return self
    }

    /// Sets when the request asks with `Expect: 100-continue` whether the server wants the body. By default it asks for
    /// bodies above 1 MiB, and for a body of unknown length only if it can be sent once and the credentials wait for a
    /// challenge. An `Expect` field of the request takes precedence.
    @discardableResult
    public func expectContinue(_ expectation: ExpectContinue) -> Self {
        record.withLock { $0.ensureExtras().options.expectContinue = expectation }
        return self
    }

    /// Sets whether the request may share a connection with others at the same time (HTTP/2 and later), and wait for
    /// one that is being set up. By default it may.
    @discardableResult
    public func multiplexing(_ isAllowed: Bool) -> Self {
        record.withLock { $0.ensureExtras().options.multiplexes = isAllowed }
        return self
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
        _ = record.withLock { exchange(&$0.ensureExtras().options.trailers, with: trailers) }
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
            record.ensureExtras().options.authentication = authentication
            record.ensureExtras().options.keepsAuthentication = persistence != .none
        }
        return self
    }

    // MARK: Interceptors, handlers and monitors

    /// Sets the handler of this request's redirects. The last one set is used.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        // The former handler is released without the lock: its `deinit` may use the request.
        _ = record.withLock { exchange(&$0.ensureExtras().options.redirectHandler, with: handler) }
        return self
    }

    /// Adds an interceptor after the existing ones.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        record.withLock { record in
            record.ensureExtras().options.add(adapter: interceptor)
            record.ensureExtras().options.retriers.append(interceptor)
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

    /// Adds a monitor for the events of this request, after the session's monitors and the existing ones.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        var queues = context.monitorQueues + (record.withLock { $0.extras?.hooks.monitorQueues } ?? [])
        let known = queues.count
        queues.add(monitor)
        let added = queues[known...]
        record.withLock { $0.ensureExtras().hooks.monitorQueues += added }
        return self
    }

    // MARK: Priority, idempotency and resilience

    /// Sets the priority: the order in which requests wait for the session's ``Resilience`` and for connections, and the
    /// field `Priority` (RFC 9218) for the server, unless the request has one.
    @discardableResult
    public func priority(_ priority: RequestPriority) -> Self {
        record.withLock { $0.ensureExtras().options.priority = priority }
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
        record.withLock { $0.ensureExtras().options.idempotencyKey = key }
        return self
    }

    /// Describes the path of the URL with a template, so that metrics and spans of all requests that differ only in their
    /// parameters have one name: OpenTelemetry's `url.template`. It is never sent.
    ///
    ///     session.request("https://api.example.com/users/\(id)").urlTemplate("/users/{id}")
    ///
    /// It is for exchange adapters and event monitors: Curlew itself does not use it. Write it as a literal, without the
    /// parameters' values.
    @discardableResult
    public func urlTemplate(_ template: String) -> Self {
        record.withLock { $0.ensureExtras().options.urlTemplate = template }
        return self
    }

    /// The template of the URL's path; `nil` if none was set.
    public var urlTemplate: String? { record.withLock { $0.extras?.options.urlTemplate } }

    /// Changes how the session's ``Resilience`` treats this request. The last call counts.
    ///
    ///     session.request(health).resilience(without: [.breaker, .hedging])
    ///     session.request(reports).resilience(key: "reports", waits: false)
    ///
    /// - Parameters:
    ///   - parts: The parts that do not apply: they neither delay nor refuse the request, and do not count it.
    ///   - key: The name by which the request shares rates and places with others, in place of its origin. It shares a
    ///     circuit with the requests of that key to the same origin. Parts with `per: .session` or `per: .key` do not
    ///     change, and neither do retry budgets, hedging and what the server announces.
    ///   - waits: `false`: fails with `.limited` at once. `true` follows the session's ``Resilience/waits``.
    @discardableResult
    public func resilience(without parts: ResilienceParts = [], key: String? = nil, waits: Bool = true) -> Self {
        let resilience = RequestResilience(without: parts, key: key, waits: waits)
        record.withLock { $0.ensureExtras().options.resilience = resilience }
        return self
    }
}

// Options that only Curlew sets, and questions about options.
extension Request {
    // The inlinable functions discard their result, so these return none.
    @usableFromInline
    func add(adapter: any RequestAdapter) { record.withLock { $0.ensureExtras().options.add(adapter: adapter) } }

    @usableFromInline
    func add(retrier: any RequestRetrier) { record.withLock { $0.ensureExtras().options.retriers.append(retrier) } }

    /// Sends the request without a proxy, whatever the session and the environment say. For requests that follow no
    /// redirect: a redirect may use a proxy again, or bypass it for another host.
    @discardableResult
    func bypassingProxy() -> Self {
        record.withLock { $0.ensureExtras().options.bypassesProxy = true }
        return self
    }

    /// Marks the request as one with which an OAuth 2 client asks for a token.
    func asTokenRequest() -> Self {
        record.withLock { $0.ensureExtras().options.isTokenRequest = true }
        return self
    }

    var timeouts: Timeouts { record.withLock { $0.extras?.options.timeouts } ?? context.configuration.timeouts }

    /// The maximum size of a body in memory, or of a line or event of a stream.
    var bodyLimit: Int {
        record.withLock { $0.extras?.options.maximumBodySize } ?? context.configuration.maximumBodySize
    }

    var priority: RequestPriority { record.withLock { $0.extras?.options.priority } ?? .normal }

    var hasIdempotencyKey: Bool { record.withLock { $0.extras?.options.idempotencyKey } != nil }
}
