package import Foundation

/// The cache's decision about a request (RFC 9111, 4).
package enum CacheDecision: Sendable {
    /// Serve the stored response.
    case serve(StoredEntry, AnswerForm, CacheStatus)
    /// Serve the stored response and revalidate it in the background.
    case serveAndRevalidate(StoredEntry, AnswerForm)
    /// Send the request with these conditional fields added. The stored response is served after a 304, and possibly if
    /// the server fails.
    case validate(StoredEntry, adding: [HTTPHeader])
    /// Send the request with these fields added.
    case send(CacheStatus, adding: [HTTPHeader])
    /// Fail: no stored response may be served, and the server must not be asked.
    case refuse

    /// Decides before the store is asked. `nil` if a stored response may answer the request.
    package init?(beforeLookup request: CacheRequest, hasBody: Bool = false) {
        guard let reason = request.reasonToBypass(hasBody: hasBody) else { return nil }
        if request.policy == .onlyStored {
            self = .refuse
            return
        }
        let sendsNoCache = reason == .reload && request.control.isEmpty
        let fields = sendsNoCache ? [("Cache-Control", "no-cache"), ("Pragma", "no-cache")] : []
        self = .send(.bypassed(reason), adding: fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    /// Decides about a request, given the entry that was found for it.
    package init(for request: CacheRequest, found stored: StoredEntry?, mode: CacheMode, now: Date) {
        // A request that bypasses the cache has no use for the entry.
        if request.policy == .onlyStored, request.reasonToBypass() != nil {
            self = .refuse
            return
        }
        guard let stored else {
            self = Self.withoutAnswer(request, .miss)
            return
        }
        guard let form = AnswerForm(of: request, from: stored.entry.response, bodySize: stored.body.size) else {
            self = Self.withoutAnswer(request, .bypassed(.condition))
            return
        }
        let freshness = Freshness(stored.entry.response, mode: mode)
        switch request.policy {
        case .preferStored, .onlyStored:
            self = .serve(stored, form, freshness.isFresh(at: now) ? .hit : .stale(.policy))
        case .useProtocol, .revalidate, .reload:
            self = Self.byProtocol(request, stored, form, freshness, now)
        }
    }

    private static func byProtocol(
        _ request: CacheRequest,
        _ stored: StoredEntry,
        _ form: AnswerForm,
        _ freshness: Freshness,
        _ now: Date
    ) -> CacheDecision {
        let isFresh = freshness.isFresh(at: now)
        let forcesValidation = request.policy == .revalidate && !(isFresh && freshness.isImmutable)
        if !forcesValidation, !request.control.has("no-cache"), !freshness.isFromTheFuture(at: now) {
            let allows = request.allows(freshness, at: now)
            if isFresh, allows { return .serve(stored, form, .hit) }
            if !freshness.mustRevalidate {
                let staleness = freshness.staleness(at: now)
                if allows, staleness < freshness.staleWhileRevalidate, form != .head {
                    return .serveAndRevalidate(stored, form)
                }
                if request.allowsStaleness(of: staleness) { return .serve(stored, form, .stale(.maxStale)) }
            }
        }
        if request.control.has("only-if-cached") { return .refuse }
        // A validation concerns the whole response; the server must supply every other form.
        guard form == .whole, !request.hasCondition else {
            let status = form == .head ? CacheStatus.miss : .bypassed(.condition)
            return .send(status, adding: request.askingFields)
        }
        return .validate(
            stored, adding: Validators(stored.entry.response.head.headers).conditions + request.askingFields)
    }

    private static func withoutAnswer(_ request: CacheRequest, _ status: CacheStatus) -> CacheDecision {
        if request.policy == .onlyStored || request.control.has("only-if-cached") { return .refuse }
        let isSpecial = request.hasRange || request.hasCondition
        return .send(isSpecial ? .bypassed(.condition) : status, adding: request.askingFields)
    }

    /// Whether a stored response may be served because the server has failed (RFC 5861, 4). A request that insists on
    /// validation gets the failure instead.
    package static func allowsOnFailure(
        _ stored: StoredResponse,
        for request: CacheRequest,
        mode: CacheMode,
        now: Date
    ) -> Bool {
        guard request.policy == .useProtocol, !request.control.has("no-cache"), request.control.maxAge != 0 else {
            return false
        }
        let freshness = Freshness(stored, mode: mode)
        guard !freshness.mustRevalidate, !freshness.isFromTheFuture(at: now) else { return false }
        let window = max(freshness.staleIfError, TimeInterval(request.control.seconds("stale-if-error") ?? 0))
        return freshness.staleness(at: now) < window
    }
}

extension CacheRequest {
    /// The reason why no stored response can answer the request; `nil` if one may.
    fileprivate func reasonToBypass(hasBody: Bool = false) -> CacheStatus.BypassReason? {
        if hasBody || (method != .get && method != .head) { return .method }
        if control.has("no-store") { return .noStore }
        if hasPrecondition { return .condition }
        return policy == .reload ? .reload : nil
    }

    /// The fields by which a request with the policy `.revalidate` makes caches on the way ask the server, too.
    fileprivate var askingFields: [HTTPHeader] {
        guard policy == .revalidate, control.isEmpty else { return [] }
        return [HTTPHeader(name: "Cache-Control", value: "max-age=0")]
    }

    /// Whether the response is fresh enough for the request's own limits (RFC 9111, 5.2.1). A limit that is not a
    /// number counts as the strictest one.
    fileprivate func allows(_ freshness: Freshness, at now: Date) -> Bool {
        let age = freshness.age(at: now)
        if control.has("max-age") {
            let limit = TimeInterval(control.maxAge ?? 0)
            guard limit > 0, age <= limit else { return false }
        }
        guard control.has("min-fresh") else { return true }
        guard let rest = control.seconds("min-fresh") else { return false }
        return freshness.lifetime - age >= TimeInterval(rest)
    }

    /// Whether `max-stale` allows this staleness. Without a number it allows any. `max-age` and `min-fresh` override
    /// it.
    fileprivate func allowsStaleness(of staleness: TimeInterval) -> Bool {
        guard let value = control.directives["max-stale"], !control.has("max-age"), !control.has("min-fresh") else {
            return false
        }
        if value.isEmpty { return control.permits("max-stale") }
        return DeltaSeconds.parse(value).map { staleness < TimeInterval($0) } ?? false
    }
}
