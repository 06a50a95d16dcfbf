internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The request that a redirect leads to, without the fields and credentials that belong to the previous origin.
struct RedirectedRequest {
    /// The next request, as the transport takes it.
    let next: TransferRequest
    /// The next request, as users see it.
    let proposal: URLRequest
    /// The request that was redirected.
    private let former: TransferRequest
    private let request: Request

    init(_ redirect: Redirect, _ sent: OutgoingRequest, in request: Request) {
        let context = request.context
        let removed = redirect.headersToRemove(
            from: sent.transferRequest.effectiveHeaders, by: context.configuration.redirects)
        var next = sent.transferRequest
        next.url = redirect.url
        next.method = redirect.method
        for name in removed { next.headers.remove(name: name) }
        // The session's fields may be secrets as well.
        next.defaultHeaders = next.defaultHeaders.map { context.defaultHeaders($0.without(removed), at: redirect.url) }
        if redirect.dropsBody { (next.body, next.trailers) = (.none, nil) }
        if redirect.leavesOrigin { next.options.authentication = nil }
        if let routing = context.configuration.proxyRouting {
            next.options.proxy = routing(redirect.url) ?? Proxy.none
        }
        self.next = next
        proposal = Self.proposal(redirect, for: sent.snapshot.urlRequest, without: removed)
        former = sent.transferRequest
        self.request = request
    }

    private static func proposal(_ redirect: Redirect, for sent: URLRequest, without removed: [String]) -> URLRequest {
        var proposal = sent
        proposal.url = redirect.url
        proposal.httpMethod = redirect.method.rawValue
        for name in removed { proposal.setValue(nil, forHTTPHeaderField: name) }
        if redirect.dropsBody {
            proposal.httpBody = nil
            proposal.httpBodyStream = nil
        }
        return proposal
    }

    /// Returns the redirect handler's answer without the secrets of the previous origin.
    ///
    /// A handler may replace a redirect within the origin by one to another origin. The fields that it left unchanged
    /// are then removed, as if the server had redirected there. The fields that it set or changed are sent.
    func withoutSecrets(_ answer: URLRequest) -> URLRequest {
        guard let url = answer.url, !RedirectLocation.isSameOrigin(former.url, url) else { return answer }
        var answer = answer
        for field in HTTPHeaders(answer.allHTTPHeaderFields ?? [:])
        where policy.staysBehind(field) && proposal.value(forHTTPHeaderField: field.name) == field.value {
            answer.setValue(nil, forHTTPHeaderField: field.name)
        }
        return answer
    }

    /// Returns the transfer request for a request that the redirect handler has changed.
    func replaced(by changed: URLRequest) throws(CurlewError) -> TransferRequest {
        let context = request.context
        var own = request.record.withLock { $0.extras?.options } ?? RequestOptions()
        // Credentials that an earlier redirect has removed are not added again.
        own.authentication = former.options.authentication
        let builder = TransferRequestBuilder(context: context, own: own, purpose: next.options.purpose)
        // The body of an upload is not in its `URLRequest`.
        let body = changed.hasBody(of: proposal) ? next.body : nil
        if body == nil || next.trailers == nil { own.trailers = nil }
        var result = try builder.build(
            .made(changed),
            body: body,
            task: next.identifier,
            attempt: next.attempt,
            remaining: next.options.timeouts.total
        )
        result.defaultHeaders = next.defaultHeaders
        result.options.cache = next.options.cache
        if !RedirectLocation.isSameOrigin(former.url, result.url) {
            result.options.authentication = nil
            // If the redirect stayed within the origin that the handler leaves, `next` still has the session's secret
            // fields.
            if let shared = next.defaultHeaders {
                let secret = shared.headers.filter(policy.staysBehind).map(\.name)
                result.defaultHeaders = context.defaultHeaders(shared.without(secret), at: result.url)
            }
        }
        return result
    }

    private var policy: RedirectPolicy { request.context.configuration.redirects }

    /// Whether secrets were removed because of the new origin, and no handler has replaced them.
    func leavesCredentials(_ next: TransferRequest) -> Bool {
        guard !RedirectLocation.isSameOrigin(former.url, next.url) else { return false }
        if former.options.authentication != nil, next.options.authentication == nil { return true }
        let sent = next.effectiveHeaders
        return former.effectiveHeaders.contains {
            SecretNames.containsField($0.name) && policy.staysBehind($0) && !sent.contains(name: $0.name)
        }
    }
}

extension DefaultHeaders {
    /// Returns the fields without those of these names.
    func without(_ names: [String]) -> DefaultHeaders {
        guard names.contains(where: headers.contains(name:)) else { return self }
        var reduced = headers
        for name in names { reduced.remove(name: name) }
        return DefaultHeaders(reduced)
    }
}
