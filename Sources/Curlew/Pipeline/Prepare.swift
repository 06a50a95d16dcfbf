internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The request to send next: as users see it, and as the transport takes it. It is not changed once it has been sent: a
/// redirect or an answered challenge makes another one.
struct OutgoingRequest: Sendable {
    var snapshot: RequestSnapshot
    var transfer: TransferRequest
    /// The progress of reporting the exchange to monitors.
    var announcement = Announcement.none
    /// Stored credentials of the session. The request repeats one that was sent without them and was challenged.
    var storedAnswer: TransferAuthentication?

    enum Announcement: Sendable {
        case none
        /// Nothing was reported. `isNoted`: the history has the request.
        case described(isNoted: Bool)
        /// The exchange was reported as started: its request is sent again, as if the transport had answered a
        /// challenge.
        case started
    }
}

extension Run {
    /// Returns the first request of the attempt: as the user described it, adapted, with its body, and lowered.
    func firstRequest() async throws(CurlewError) -> OutgoingRequest {
        if attempt.options.isCancelled { throw request.cancellation }
        var (visible, isNoted) = try initialRequest()
        if !attempt.options.adapters.isEmpty { visible = try await adapt(visible) }
        var body: BodySource?
        if let upload = request.kind.upload {
            let made = try await upload.makeBody(for: request, events)
            // An earlier attempt may have read a body that can be read only once.
            let needsNewBody = attempt.number > 0 && request.replacesBodies
            body = needsNewBody ? try await request.bodyToSendAgain(made) : made
        }
        do throws(CurlewError) {
            let transfer = try lower(visible, body: body)
            return OutgoingRequest(snapshot: visible, transfer: transfer, announcement: .described(isNoted: isNoted))
        } catch {
            // The request was created, although it cannot be sent.
            try request.reportCreation(of: visible, isNoted: isNoted, events)
            throw error
        }
    }

    /// Returns the request as the user described it, and whether it is in the history already.
    private func initialRequest() throws(CurlewError) -> (RequestSnapshot, isNoted: Bool) {
        do {
            let context = request.context
            if events == nil, case .plain(let description) = request.kind.source,
                let plain = try description.asSnapshot(
                    keepsDotSegments: context.configuration.keepsDotSegments, resolved: resolved)
            {
                // A plain request is recorded here only if adapters look at it, and otherwise when its exchange begins.
                // A request with a separate body is never plain.
                let isSeen = !attempt.options.adapters.isEmpty
                if isSeen { request.note(plain) }
                return (plain, isSeen)
            }
            let made = try resolved(request.kind.source.urlRequest(of: request, in: self))
                .withoutDotSegments(in: context)
            try made.validate()
            request.note(.made(made))
            events?.emit { [request] in $0.request(request, didCreateInitialURLRequest: made) }
            return (.made(made), true)
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emit { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }
}

// MARK: The absolute URL

extension Run {
    /// Returns an absolute URL unchanged, and a relative one resolved against the endpoint that is chosen for this
    /// attempt, or the session's base URL. Throws if the endpoints or the base URL cannot be used.
    func resolved(_ url: URL) throws(CurlewError) -> URL {
        guard request.context.hasBase, url.scheme == nil, let base = try base(for: url) else { return url }
        return try base.resolve(url.absoluteString)
    }

    /// Returns a request with its URL resolved.
    func resolved(_ described: URLRequest) throws(CurlewError) -> URLRequest {
        guard request.context.hasBase, let url = described.url, url.scheme == nil else { return described }
        var request = described
        request.url = try resolved(url)
        return request
    }

    private func base(for url: URL) throws(CurlewError) -> BaseURL? {
        guard let control = try request.context.endpoints?.get() else { return try request.context.baseURL?.get() }
        // `//host/path` takes only the scheme, and either all endpoints use TLS or none.
        if url.host(percentEncoded: true)?.isEmpty == false { return control.bases[0] }
        // The request is too late, which no endpoint should be blamed for.
        if budget.remaining == .zero { throw .totalTimeout(budget.total, phase: .queue) }
        let used = endpoints ?? UsedEndpoints(control)
        endpoints = used
        return used.base()
    }

    /// Releases the endpoint if the adapters have changed the origin of the request, because another server will
    /// respond.
    func keepEndpoint(of described: URL?, for adapted: URL?) {
        if let described, let adapted, RedirectLocation.isSameOrigin(described, adapted) { return }
        endpoints?.finish { _ in nil }
    }
}

// MARK: Adapting

extension Run {
    /// Returns the request as the adapters change it, one after the other.
    func adapt(_ initial: RequestSnapshot) async throws(CurlewError) -> RequestSnapshot {
        let given = initial.urlRequest
        let (adapters, state) = (attempt.options.adapters, RequestAdapterState(request: request, session: session))
        do {
            let adapted = try await callingUserCode(in: .adaptation) {
                var adapted = given
                for adapter in adapters { adapted = try await adapter.adapt(adapted, using: state) }
                return adapted
            }.withoutDotSegments(in: request.context)
            // A request that the adapters returned unchanged keeps its cheaper form.
            let visible = adapted.isCopy(of: given) ? initial : .made(adapted)
            if visible !== initial { try adapted.validate() }
            if endpoints != nil { keepEndpoint(of: given.url, for: adapted.url) }
            request.note(visible)
            events?.emit { [request] in $0.request(request, didAdaptInitialRequest: given, to: adapted) }
            return visible
        } catch {
            let timeout = (error as? CurlewError).flatMap { $0.code == .totalTimedOut ? $0 : nil }
            let failure = timeout ?? ErrorWrapping.adaptation(error)
            events?.emit { [request] in
                $0.request(request, didFailToAdaptURLRequest: given, withError: failure)
            }
            throw failure
        }
    }
}

// MARK: Lowering: making the transfer request

extension Run {
    /// Returns what the transport sends for a request, according to the current options. Below this step, only
    /// middleware and exchange adapters see a `URLRequest`.
    func lower(_ visible: RequestSnapshot, body: BodySource?) throws(CurlewError) -> TransferRequest {
        let own = request.record.withLock { $0.extras?.options }
        let lowering = Lowering(context: request.context, own: own, purpose: request.kind.purpose)
        var lowered = try lowering.lower(
            visible,
            body: body,
            task: task,
            attempt: attempt.number,
            remaining: budget.remaining
        )
        // A plain request of a session without a cache says nothing about caching.
        if own != nil || visible.original != nil || request.context.configuration.cache != nil {
            try lowerCaching(of: visible, own, into: &lowered)
        }
        return lowered
    }
}

/// Turns a `RequestSnapshot` into what a transport takes. It moves credentials out of the URL, and refuses everything
/// that cannot be sent.
struct Lowering {
    let context: SessionContext
    /// The request's own options. `nil` if it has none.
    let own: RequestOptions?
    let purpose: TransferPurpose

    func lower(
        _ visible: RequestSnapshot,
        body: BodySource?,
        task: TaskIdentifier,
        attempt: Int,
        remaining: Duration?
    ) throws(CurlewError) -> TransferRequest {
        guard var target = visible.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the request has no URL")
        }
        var authority: TransferAuthentication?
        if !visible.hasPlainHost {
            let given = target
            (target, authority) = try Self.separateCredentials(of: given)
            // Foundation accepts `http://ho%0Ast/`.
            if let host = target.host(percentEncoded: false), !Hostname.isUsable(host) {
                throw CurlewError(
                    .invalidURL, phase: .creation, reason: "the URL's host is not a valid host name", url: given)
            }
        }
        // The upgrade to https (HSTS) precedes the choice of credentials, proxy and cookies, which depend on the
        // scheme.
        if let hsts = context.configuration.hsts, !hsts.isEmpty { target = try hsts.upgraded(target) }
        let method = visible.method
        guard method.isValid else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation, reason: "the method is not a valid HTTP token", url: target)
        }
        let fields = visible.fields
        for field in fields where !field.isValid { throw CurlewError.invalidHeader(field) }
        var headers = fields.isEmpty ? HTTPHeaders() : HTTPHeaders(received: fields)
        if let name = context.configuration.resilience.deadlineField, !name.isHTTPToken {
            throw CurlewError.invalidHeader(HTTPHeader(name: name, value: ""))
        }
        var options = context.plainOptions
        let isDefault = visible.timeoutInterval == RequestSnapshot.defaultTimeoutInterval
        if own != nil || purpose != .memory || !isDefault || remaining != nil {
            options = transferOptions(timeoutInterval: visible.timeoutInterval, remaining: remaining)
        }
        if let authority {
            options.authentication = authority
        } else if !context.configuration.credentials.isEmpty {
            options.authentication = context.configuration.authentication(for: target)
        }
        if let own {
            try own.addFields(to: &headers)
            if let authentication = own.authentication { options.authentication = authentication }
        }
        if own?.bypassesProxy == true {
            options.proxy = Proxy.none
        } else if let routing = context.configuration.proxyRouting {
            options.proxy = routing(target) ?? Proxy.none
        }
        let defaultHeaders = context.defaultHeaders(for: target)
        if headers.asksForIdentity ?? defaultHeaders.asksForIdentity { options.decodesContent = false }
        if let request = visible.original {
            request.refine(&headers, &options, hasCache: context.configuration.cache != nil)
        }
        var body = body
        if body == nil, let described = visible.original { body = try Self.body(of: described) }
        var lowered = TransferRequest(
            identifier: task,
            attempt: attempt,
            url: target,
            method: method,
            headers: headers,
            defaultHeaders: defaultHeaders,
            body: body ?? BodySource.none,
            options: options
        )
        if let trailers = own?.trailers {
            try lowered.body.checkCarriesTrailers()
            lowered.trailers = trailers
        }
        return lowered
    }

    private func transferOptions(timeoutInterval: TimeInterval, remaining: Duration?) -> TransferOptions {
        let isDefault = timeoutInterval == RequestSnapshot.defaultTimeoutInterval
        var timeouts = own?.timeouts ?? context.configuration.timeouts
        if !isDefault, timeoutInterval > 0, own?.timeouts == nil {
            timeouts.firstByte = .bounded(seconds: timeoutInterval)
            timeouts.idle = .bounded(seconds: timeoutInterval)
        }
        timeouts.total = remaining
        var lowered = TransferOptions(timeouts: timeouts)
        lowered.purpose = purpose
        if let own {
            lowered.expectContinue = own.expectContinue
            lowered.multiplexes = own.multiplexes
        }
        switch purpose {
        // The transport has no limit, because a user may turn the body into a file. The delegate enforces it for other
        // bodies.
        case .memory where own?.asksAboutHead == true || context.plainOptions.maximumBodySize == nil: break
        case .memory:
            lowered.maximumBodySize = own?.maximumBodySize ?? context.configuration.maximumBodySize
        // A file has only the limit that the user sets. In a stream the limit applies to a line or an event, not to the
        // body.
        case .file: lowered.maximumBodySize = own?.maximumBodySize
        case .stream: lowered.maximumBodySize = nil
        }
        return lowered
    }

    /// Moves `user:password@` out of the URL, into credentials for Basic authentication: URLs are logged. Throws if the
    /// URL cannot be taken apart.
    private static func separateCredentials(of url: URL) throws(CurlewError) -> (URL, TransferAuthentication?) {
        let (encodedUser, encodedPassword) = (url.user(percentEncoded: true), url.password(percentEncoded: true))
        guard encodedUser?.isEmpty == false || encodedPassword != nil else { return (url, nil) }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        guard let bare = parts?.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the URL cannot be taken apart", url: url)
        }
        // User info that is not valid UTF-8 is used in its encoded form.
        let user = url.user(percentEncoded: false) ?? encodedUser ?? ""
        let password = url.password(percentEncoded: false) ?? encodedPassword ?? ""
        return (bare, TransferAuthentication(scheme: .basic, username: user, password: password))
    }

    private static func body(of request: URLRequest) throws(CurlewError) -> BodySource {
        if let data = request.httpBody { return data.isEmpty ? .none : .data(data) }
        // SAFETY: an unopened stream is handed over with its request: the body's queue alone reads it.
        nonisolated(unsafe) let stream = request.httpBodyStream
        guard let stream else { return .none }
        guard stream.streamStatus == .notOpen else {
            throw CurlewError(
                .bodyUnavailable,
                phase: .send,
                reason: "The request's body stream has been read already."
            )
        }
        return .inputStream(stream, length: request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) })
    }
}

extension Run {
    /// Sets `options.cache`, if the request, a handler or a monitor changes the session's caching.
    func lowerCaching(
        of visible: RequestSnapshot,
        _ own: RequestOptions?,
        into lowered: inout TransferRequest
    ) throws(CurlewError) {
        let policy = own?.cachePolicy ?? visible.cachePolicy
        guard let cache = request.context.configuration.cache else {
            guard policy == .onlyStored else { return }
            throw CurlewError(
                .notInCache, phase: .creation, reason: "the session has no cache", url: lowered.url)
        }
        let handler = own?.cachedResponseHandler ?? request.context.cachedResponseHandler
        let listens = events?.wantsBodies == true
        guard policy != .useProtocol || handler != nil || listens else { return }
        var overrides = CacheOverrides(policy: policy)
        overrides.mustReview = handler != nil
        if handler != nil || listens {
            let (request, events) = (request, events)
            let isMemory = cache.store is MemoryCacheStore
            overrides.review = { [weak request] sent, head, body in
                let offered = CachedResponse(head: head, url: sent.url, data: body)
                var accepted: CachedResponse? = offered
                if let handler {
                    let ask = { await handler.dataTask(sent.identifier, willCacheResponse: offered) }
                    accepted = if let request { await UserCode.call(for: request, ask) } else { await ask() }
                }
                guard let accepted, accepted.mayBeStored(inMemory: isMemory) else { return nil }
                if let request {
                    let task = sent.identifier
                    events?.emitStorage(of: accepted.data) {
                        $0.request(request, task: task, willCacheResponse: accepted)
                    }
                }
                return accepted.stored(insteadOf: offered)
            }
        }
        lowered.options.cache = overrides
    }
}

extension RequestSnapshot {
    /// The cache policy of the `URLRequest`. Policies that differ only for remote caches are treated alike.
    var cachePolicy: CachePolicy {
        guard let request = original else { return .useProtocol }
        switch request.cachePolicy {
        case .useProtocolCachePolicy: return .useProtocol
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .reload
        case .reloadRevalidatingCacheData: return .revalidate
        case .returnCacheDataElseLoad: return .preferStored
        case .returnCacheDataDontLoad: return .onlyStored
        @unknown default: return .useProtocol
        }
    }
}
