internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// What a redirect makes of the request that was redirected, without the fields and credentials that stay behind with
/// their origin.
struct RedirectedRequest {
    /// What goes out next.
    let next: TransferRequest
    /// The same as users see it.
    let proposal: URLRequest
    private let lowered: TransferRequest
    private let request: Request

    init(_ redirect: Redirect, _ hop: Hop, in request: Request) {
        let context = request.context
        let removed = redirect.headersToRemove(
            from: hop.lowered.effectiveHeaders, by: context.configuration.redirects)
        var next = hop.lowered
        next.url = redirect.url
        next.method = redirect.method
        for name in removed { next.headers.remove(name: name) }
        // The session's own fields may hold secrets as well.
        next.defaultHeaders = next.defaultHeaders.map { context.defaultHeaders($0.without(removed), at: redirect.url) }
        if redirect.dropsBody { next.body = .none }
        if redirect.leavesOrigin { next.options.authentication = nil }
        if let routing = context.configuration.proxyRouting {
            next.options.proxy = routing(redirect.url) ?? Proxy.none
        }
        self.next = next
        proposal = Self.proposal(redirect, for: hop.visible.urlRequest, without: removed)
        lowered = hop.lowered
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

    /// The redirect handler's answer without the secrets that stay with their origin.
    ///
    /// A handler may move a redirect within the origin to another one. The fields that it left as they were then stay
    /// behind, as they do if the server leads there. The fields that it set or changed are sent.
    func withoutSecrets(_ answer: URLRequest) -> URLRequest {
        guard let url = answer.url, !RedirectLocation.isSameOrigin(lowered.url, url) else { return answer }
        var answer = answer
        for field in HTTPHeaders(answer.allHTTPHeaderFields ?? [:])
        where policy.staysBehind(field) && proposal.value(forHTTPHeaderField: field.name) == field.value {
            answer.setValue(nil, forHTTPHeaderField: field.name)
        }
        return answer
    }

    /// The redirect handler has made a request of its own.
    func replaced(by changed: URLRequest) throws(CurlewError) -> TransferRequest {
        let context = request.context
        let wishes = request.record.withLock { record in
            // What an earlier hop has left behind with its origin stays there.
            Lowering.Wishes(record.extras?.options ?? RequestOptions(), lowered.options.authentication)
        }
        let lowering = Lowering(context: context, wishes: wishes, purpose: next.options.purpose)
        // An upload's body does not stand in its `URLRequest`.
        let body = changed.hasBody(of: proposal) ? next.body : nil
        var result = try lowering.lower(
            .made(changed),
            body: body,
            task: next.identifier,
            attempt: next.attempt,
            remaining: next.options.timeouts.total
        )
        result.defaultHeaders = next.defaultHeaders
        result.options.cache = next.options.cache
        if !RedirectLocation.isSameOrigin(lowered.url, result.url) {
            result.options.authentication = nil
            // The redirect may have stayed within the origin that the handler leaves.
            if let shared = next.defaultHeaders {
                let secret = shared.headers.filter(policy.staysBehind).map(\.name)
                result.defaultHeaders = context.defaultHeaders(shared.without(secret), at: result.url)
            }
        }
        return result
    }

    private var policy: RedirectPolicy { request.context.configuration.redirects }

    /// Whether secrets stayed behind with their origin, and no handler has put others in their place.
    func leavesCredentials(_ next: TransferRequest) -> Bool {
        guard !RedirectLocation.isSameOrigin(lowered.url, next.url) else { return false }
        if lowered.options.authentication != nil, next.options.authentication == nil { return true }
        let sent = next.effectiveHeaders
        return lowered.effectiveHeaders.contains {
            SecretNames.containsField($0.name) && policy.staysBehind($0) && !sent.contains(name: $0.name)
        }
    }
}

extension DefaultHeaders {
    /// The same object where nothing of it has to go.
    func without(_ names: [String]) -> DefaultHeaders {
        guard names.contains(where: headers.contains(name:)) else { return self }
        var reduced = headers
        for name in names { reduced.remove(name: name) }
        return DefaultHeaders(reduced)
    }
}
