internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Nothing below sees a `URLRequest`: a follow-up lowers another.
    func lower(_ described: DescribedRequest) throws(CurlewError) -> Hop {
        let lowering = Lowering(context: request.context, wishes: attempt.options, purpose: request.purpose)
        do throws(CurlewError) {
            var lowered = try lowering.lower(
                described.visible,
                body: described.body,
                task: task,
                attempt: attempt.number,
                remaining: budget.remaining
            )
            try lowerCaching(of: described.visible, into: &lowered)  // CacheLowering.swift
            return Hop(visible: described.visible, lowered: lowered, announcement: described.announcement)
        } catch {
            // It was created, although it cannot be sent.
            if case .described(let isNoted) = described.announcement {
                try request.created(described.visible, isNoted: isNoted, events)
            }
            throw error
        }
    }
}

/// Turns a `URLRequest` into what a transport takes. Here the URL loses its credentials, and everything that
/// could not go onto the wire is refused.
struct Lowering {
    let context: SessionContext
    /// nil where there are none.
    let wishes: Wishes?
    let purpose: TransferPurpose

    /// What of a request's options the transport has to know. An object, so that none is not moved about at its size.
    final class Wishes: Sendable {
        let timeouts: Timeouts?
        let maximumBodySize: Int?
        let authentication: TransferAuthentication?
        let expectContinue: ExpectContinue
        let multiplexes: Bool
        let asksAboutHead: Bool
        let cachePolicy: CachePolicy?
        let cachedResponseHandler: (any CachedResponseHandler)?

        /// nil where nothing was asked for that the session's options have not got, as nearly always.
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
            // Foundation takes `http://ho%0Ast/`.
            if let host = target.host(percentEncoded: false), !Hostname.isUsable(host) {
                throw CurlewError(
                    .invalidURL, phase: .creation, reason: "the URL's host is not a valid host name", url: url)
            }
        }
        // Before credentials, proxies and cookies are chosen: https has others than http.
        try context.upgrade(&target)
        let method = visible.method ?? .get
        guard method.isValid else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation, reason: "the method is not a valid HTTP token", url: target)
        }
        var headers = try Self.headers(of: visible)
        var options = transferOptions(timeoutInterval: visible.timeoutInterval, remaining: remaining)
        // Set only where there is something: nearly all requests share the session's options.
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
        // The body may turn out to go into a file. Where it does not, its delegate knows the limit.
        case .memory where wishes?.asksAboutHead == true || context.plainOptions.maximumBodySize == nil: break
        case .memory:
            lowered.maximumBodySize = wishes?.maximumBodySize ?? context.configuration.maximumBodySize
        // On disk there is no limit but the user's own; in a stream it is that of a line.
        case .file: lowered.maximumBodySize = wishes?.maximumBodySize
        case .stream: lowered.maximumBodySize = nil
        }
        return lowered
    }

    /// `user:password@` becomes credentials for Basic authentication: a URL gets logged, they must not.
    private static func separateCredentials(of url: URL) throws(CurlewError) -> (URL, TransferAuthentication?) {
        let (encodedUser, encodedPassword) = (url.user(percentEncoded: true), url.password(percentEncoded: true))
        guard encodedUser?.isEmpty == false || encodedPassword != nil else { return (url, nil) }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        guard let bare = parts?.url else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the URL cannot be taken apart", url: url)
        }
        // What is no text when decoded is taken as it stands.
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
