internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// Turns a `RequestSnapshot` into what a transport takes. It moves credentials out of the URL, and refuses everything
/// that cannot be sent.
struct TransferRequestBuilder {
    let context: SessionContext
    /// The request's own options. `nil` if it has none.
    let own: RequestOptions?
    let purpose: TransferPurpose

    /// Returns the request. Without a separate `body` it has that of the snapshot. `remaining` is the rest of the total
    /// timeout.
    func build(
        _ snapshot: RequestSnapshot,
        body: BodySource?,
        task: TaskIdentifier,
        attempt: Int,
        remaining: Duration?
    ) throws(CurlewError) -> TransferRequest {
        let (url, urlCredentials) = try target(of: snapshot)
        let method = snapshot.method
        guard method.isValid else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation, reason: "the method is not a valid HTTP token", url: url)
        }
        var headers = try fields(of: snapshot)
        var options = transferOptions(timeoutInterval: snapshot.timeoutInterval, remaining: remaining)
        let credentials = own?.authentication ?? urlCredentials ?? context.authentication(for: url)
        if let credentials { options.authentication = credentials }
        if let proxy = proxy(for: url) { options.proxy = proxy }
        let defaultHeaders = context.defaultHeaders(for: url)
        if headers.asksForIdentity ?? defaultHeaders.asksForIdentity { options.decodesContent = false }
        if let request = snapshot.original {
            request.refine(&headers, &options, hasCache: context.configuration.cache != nil)
        }
        let source = if let body { body } else { try Self.body(of: snapshot) }
        var transfer = TransferRequest(
            identifier: task,
            attempt: attempt,
            url: url,
            method: method,
            headers: headers,
            defaultHeaders: defaultHeaders,
            body: source,
            options: options
        )
        if let trailers = own?.trailers {
            try transfer.body.checkCarriesTrailers()
            transfer.trailers = trailers
        }
        return transfer
    }

    // MARK: The URL and the fields

    /// Returns the URL to send the request to, and the credentials that were in it.
    private func target(of snapshot: RequestSnapshot) throws(CurlewError) -> (URL, TransferAuthentication?) {
        guard let given = snapshot.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the request has no URL")
        }
        var (url, credentials): (URL, TransferAuthentication?) = (given, nil)
        if !snapshot.hasPlainHost {
            (url, credentials) = try Self.separateCredentials(of: given)
            // Foundation accepts `http://ho%0Ast/`.
            if let host = url.host(percentEncoded: false), !Hostname.isUsable(host) {
                throw CurlewError(
                    .invalidURL, phase: .creation, reason: "the URL's host is not a valid host name", url: given)
            }
        }
        // The upgrade to https (HSTS) precedes the choice of credentials, proxy and cookies, which depend on the
        // scheme.
        if let hsts = context.configuration.hsts, !hsts.isEmpty { url = try hsts.upgraded(url) }
        return (url, credentials)
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

    /// Returns the fields of the snapshot and of the request's own options.
    private func fields(of snapshot: RequestSnapshot) throws(CurlewError) -> HTTPHeaders {
        let fields = snapshot.fields
        for field in fields where !field.isValid { throw CurlewError.invalidHeader(field) }
        var headers = fields.isEmpty ? HTTPHeaders() : HTTPHeaders(received: fields)
        // The exchange adds this field.
        if let name = context.configuration.resilience.deadlineField, !name.isHTTPToken {
            throw CurlewError.invalidHeader(HTTPHeader(name: name, value: ""))
        }
        try own?.addFields(to: &headers)
        return headers
    }

    // MARK: The options

    /// Returns the options without those that depend on the URL: credentials and proxy.
    private func transferOptions(timeoutInterval: TimeInterval, remaining: Duration?) -> TransferOptions {
        let isDefault = timeoutInterval == RequestSnapshot.defaultTimeoutInterval
        if own == nil, purpose == .memory, isDefault, remaining == nil { return context.plainOptions }
        var timeouts = own?.timeouts ?? context.configuration.timeouts
        if !isDefault, timeoutInterval > 0, own?.timeouts == nil {
            timeouts.firstByte = .bounded(seconds: timeoutInterval)
            timeouts.idle = .bounded(seconds: timeoutInterval)
        }
        timeouts.total = remaining
        var options = TransferOptions(timeouts: timeouts)
        options.purpose = purpose
        if let own {
            options.expectContinue = own.expectContinue
            options.multiplexes = own.multiplexes
            if let priority = own.priority { options.priority = priority }
            if let resilience = own.resilience { options.resilience = resilience }
        }
        switch purpose {
        // The transport has no limit, because a user may turn the body into a file. The delegate enforces it for other
        // bodies.
        case .memory where own?.asksAboutHead == true || context.plainOptions.maximumBodySize == nil: break
        case .memory:
            options.maximumBodySize = own?.maximumBodySize ?? context.configuration.maximumBodySize
        // A file has only the limit that the user sets. In a stream the limit applies to a line or an event, not to the
        // body.
        case .file: options.maximumBodySize = own?.maximumBodySize
        case .stream: options.maximumBodySize = nil
        }
        return options
    }

    /// Returns the proxy that the request or the session chooses for the URL. `nil` leaves the choice to the transport.
    private func proxy(for url: URL) -> Proxy? {
        if own?.bypassesProxy == true { return Proxy.none }
        guard let routing = context.configuration.proxyRouting else { return nil }
        return routing(url) ?? Proxy.none
    }

    // MARK: The body

    private static func body(of snapshot: RequestSnapshot) throws(CurlewError) -> BodySource {
        guard let request = snapshot.original else { return .none }
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
