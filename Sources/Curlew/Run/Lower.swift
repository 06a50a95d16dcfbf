internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Turns the described request into what the transport sends. Nothing below this step sees a `URLRequest`.
    func lower(_ described: DescribedRequest) throws(CurlewError) -> Hop {
        do throws(CurlewError) {
            return Hop(
                visible: described.visible,
                lowered: try lower(described.visible, body: described.body),
                announcement: .described(isNoted: described.isNoted)
            )
        } catch {
            // The request was created, although it cannot be sent.
            try request.created(described.visible, isNoted: described.isNoted, events)
            throw error
        }
    }

    /// Returns what the transport sends, according to the current options.
    func lower(_ visible: VisibleRequest, body: BodySource?) throws(CurlewError) -> TransferRequest {
        let lowering = Lowering(context: request.context, wishes: attempt.options, purpose: request.purpose)
        var lowered = try lowering.lower(
            visible,
            body: body,
            task: task,
            attempt: attempt.number,
            remaining: budget.remaining
        )
        try lowerCaching(of: visible, into: &lowered)  // CacheLowering.swift
        return lowered
    }
}

/// Turns a `URLRequest` into what a transport takes. It moves credentials out of the URL, and refuses everything that
/// cannot be sent.
struct Lowering {
    let context: SessionContext
    /// `nil` if the request uses the session's options unchanged.
    let wishes: Wishes?
    let purpose: TransferPurpose

    /// The options of a request that concern the transport. A class, so that an absent value costs one pointer.
    final class Wishes: Sendable {
        let timeouts: Timeouts?
        let maximumBodySize: Int?
        let authentication: TransferAuthentication?
        let expectContinue: ExpectContinue
        let multiplexes: Bool
        let asksAboutHead: Bool
        let cachePolicy: CachePolicy?
        let cachedResponseHandler: (any CachedResponseHandler)?

        /// Returns `nil` if the request uses the session's options unchanged.
        static func any(in options: __shared RequestOptions) -> Wishes? {
            if case .none = options.timeouts, case .none = options.authentication, options.maximumBodySize == nil,
                options.expectContinue == .automatic, options.multiplexes, !options.asksAboutHead,
                options.cachePolicy == nil, options.cachedResponseHandler == nil
            {
                return nil
            }
            return Wishes(options, options.authentication)
        }

        init(_ options: __shared RequestOptions, _ authentication: TransferAuthentication?) {
            timeouts = options.timeouts
            maximumBodySize = options.maximumBodySize
            self.authentication = authentication
            expectContinue = options.expectContinue
            multiplexes = options.multiplexes
            asksAboutHead = options.asksAboutHead
            cachePolicy = options.cachePolicy
            cachedResponseHandler = options.cachedResponseHandler
        }
    }

    func lower(
        _ visible: VisibleRequest,
        body: BodySource?,
        task: TaskIdentifier,
        attempt: Int,
        remaining: Duration?
    ) throws(CurlewError) -> TransferRequest {
        guard var target = visible.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the request has no URL")
        }
        var authority: TransferAuthentication?
        if Hostname.mayBeUnusable(in: target.absoluteString) {
            let url = target
            (target, authority) = try Self.separateCredentials(of: url)
            // Foundation accepts `http://ho%0Ast/`.
            if let host = target.host(percentEncoded: false), !Hostname.isUsable(host) {
                throw CurlewError(
                    .invalidURL, phase: .creation, reason: "the URL's host is not a valid host name", url: url)
            }
        }
        // The upgrade to https precedes the choice of credentials, proxy and cookies, which depend on the scheme.
        try context.upgrade(&target)
        let method = visible.method ?? .get
        guard method.isValid else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation, reason: "the method is not a valid HTTP token", url: target)
        }
        var headers = try Self.headers(of: visible)
        var options = transferOptions(timeoutInterval: visible.timeoutInterval, remaining: remaining)
        if let authentication = wishes?.authentication ?? authority {
            options.authentication = authentication
        } else if !context.configuration.credentials.isEmpty {
            options.authentication = context.configuration.authentication(for: target)
        }
        let defaultHeaders = context.defaultHeaders(for: target)
        if headers.asksForIdentity ?? defaultHeaders.asksForIdentity { options.decodesContent = false }
        if case .made(let request) = visible {
            request.refine(&headers, &options, hasCache: context.configuration.cache != nil)
        }
        if let routing = context.configuration.proxyRouting { options.proxy = routing(target) ?? Proxy.none }
        return TransferRequest(
            identifier: task,
            attempt: attempt,
            url: target,
            method: method,
            headers: headers,
            defaultHeaders: defaultHeaders,
            body: try Self.body(of: visible, body),
            options: options
        )
    }

    private func transferOptions(timeoutInterval: TimeInterval, remaining: Duration?) -> TransferOptions {
        let isDefault = timeoutInterval == VisibleRequest.defaultTimeoutInterval
        if case .none = wishes, case .memory = purpose, isDefault, remaining == nil { return context.plainOptions }
        var timeouts = wishes?.timeouts ?? context.configuration.timeouts
        if !isDefault, timeoutInterval > 0, wishes?.timeouts == nil {
            timeouts.firstByte = .bounded(seconds: timeoutInterval)
            timeouts.idle = .bounded(seconds: timeoutInterval)
        }
        timeouts.total = remaining
        var lowered = TransferOptions(timeouts: timeouts)
        lowered.purpose = purpose
        if let wishes {
            lowered.expectContinue = wishes.expectContinue
            lowered.multiplexes = wishes.multiplexes
        }
        switch purpose {
        // The transport has no limit, because a user may turn the body into a file. The delegate enforces it for other
        // bodies.
        case .memory where wishes?.asksAboutHead == true || context.plainOptions.maximumBodySize == nil: break
        case .memory:
            lowered.maximumBodySize = wishes?.maximumBodySize ?? context.configuration.maximumBodySize
        // A file has only the limit that the user sets. In a stream the limit applies to a line or an event, not to the
        // body.
        case .file: lowered.maximumBodySize = wishes?.maximumBodySize
        case .stream: lowered.maximumBodySize = nil
        }
        return lowered
    }

    /// Moves `user:password@` out of the URL, into credentials for Basic authentication: URLs are logged.
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

    private static func headers(of visible: VisibleRequest) throws(CurlewError) -> HTTPHeaders {
        let fields = visible.fields
        for field in fields where !field.isValid {
            throw CurlewError.invalidHeader(field)
        }
        return fields.isEmpty ? HTTPHeaders() : HTTPHeaders(received: fields)
    }

    private static func body(of visible: VisibleRequest, _ own: BodySource?) throws(CurlewError) -> BodySource {
        if let own { return own }
        guard case .made(let request) = visible else { return .none }
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
