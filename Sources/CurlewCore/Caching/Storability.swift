internal import Foundation

/// Whether a response may be stored (RFC 9111, 3).
package enum Storability {
    /// Statuses whose responses may be fresh by a guess (RFC 9110, 15.1), without 206, whose parts are not put together.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Parts are not put together, a 304 is no response of its own, challenges concern those who are asked, and RFC 6585
    /// forbids to store its own statuses.
    private static func isForOneExchange(_ status: Int) -> Bool {
        switch status {
        case 206, 304, 401, 407, 428, 429, 431, 511: true
        default: false
        }
    }

    package static func isStorable(_ head: ResponseHead, for request: CacheRequest, mode: CacheMode) -> Bool {
        isStorable(head, ResponseCacheFields(head.headers), for: request, mode: mode)
    }

    /// `fields`: those of the head that concern caches.
    package static func isStorable(
        _ head: ResponseHead,
        _ fields: ResponseCacheFields,
        for request: CacheRequest,
        mode: CacheMode
    ) -> Bool {
        request.method == .get && mayBeKept(head, fields, for: request, mode: mode)
    }

    /// Whether a stored response that this request has changed may stay: for a `HEAD` as for the `GET` that it was stored of.
    package static func mayStay(_ head: ResponseHead, for request: CacheRequest, mode: CacheMode) -> Bool {
        mayBeKept(head, ResponseCacheFields(head.headers), for: request, mode: mode)
    }

    private static func mayBeKept(
        _ head: ResponseHead,
        _ fields: ResponseCacheFields,
        for request: CacheRequest,
        mode: CacheMode
    ) -> Bool {
        guard head.status >= 200, !isForOneExchange(head.status), !request.control.has("no-store"),
            !request.hasPrecondition,
            fields.sayHowToStore || HTTPStatus(head.status).isPermanent,
            // Any other answer may be to the range alone, as a 416 is.
            !request.hasRange || head.status == 200
        else { return false }
        let control = CacheControl(head.headers)
        if control.isUnreadable { return false }
        if control.has("must-understand") {
            guard HTTPStatus(head.status).isUnderstood else { return false }
        } else if control.has("no-store") {
            return false
        }
        if mode == .shared {
            if control.hasUnqualified("private") { return false }
            // RFC 9111, 3.5.
            let mayBeShared =
                control.permits("public") || control.permits("must-revalidate")
                || (control.permits("s-maxage") && control.seconds("s-maxage") != nil)
            if request.hasCredentials, !mayBeShared { return false }
        }
        guard Variants.fields(of: head.headers) != nil else { return false }
        return isWorthwhile(head, control, mode)
    }

    /// Whether it says anything about being stored, or can be validated.
    private static func isWorthwhile(_ head: ResponseHead, _ control: CacheControl, _ mode: CacheMode) -> Bool {
        if (500..<600).contains(head.status) { return isFresh(failure: head, mode) }
        let fields = head.headers
        if control.has("max-age") || control.has("public") || fields.contains(name: "Expires") { return true }
        if mode == .shared ? control.has("s-maxage") : control.has("private") { return true }
        guard isHeuristicallyCacheable(head.status) else { return false }
        return !control.isEmpty || HTTPStatus(head.status).isPermanent || Validators(fields).areUsable
    }

    /// A failure takes the place of a good response, so it has to be of use without being validated.
    private static func isFresh(failure head: ResponseHead, _ mode: CacheMode) -> Bool {
        // Of its times only that of an `Expires` without a `Date` counts: what that means is not known here.
        let unknown = Date.distantFuture
        let response = StoredResponse(head: head, requestTime: unknown, responseTime: unknown)
        let freshness = Freshness(response, mode: mode)
        return !freshness.needsValidation && freshness.lifetime > 0
    }

    /// Fields that concern one connection or one exchange, and are not stored (RFC 9111, 3.1).
    private static let transient: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        // What was said to one exchange must not be said to the next: cookies have been kept already.
        "set-cookie",
    ]

    /// The head as it is stored: without what belongs to one exchange, and without fields that may only be used once they
    /// are validated (`no-cache="…"`), or by one user (`private="…"`).
    package static func stored(_ head: ResponseHead, mode: CacheMode) -> ResponseHead {
        let control = CacheControl(head.headers)
        var dropped = transient.union(control.fields(of: "no-cache"))
        if mode == .shared { dropped.formUnion(control.fields(of: "private")) }
        for value in head.headers.values(for: "Connection") {
            for name in value.split(separator: ",") {
                dropped.insert(ASCII.lowercased(ASCII.trimmingBlanks(String(name))))
            }
        }
        var stored = head
        stored.headers = HTTPHeaders(received: head.headers.filter { !dropped.contains(ASCII.lowercased($0.name)) })
        return stored
    }
}

extension HTTPStatus {
    /// Whether the cache knows what it asks of a cache, for `must-understand`.
    var isUnderstood: Bool { !reasonPhrase.isEmpty && rawValue != 206 && rawValue != 304 }

    /// Whether it says that nothing will change.
    var isPermanent: Bool {
        switch rawValue {
        case 300, 301, 308, 410: true
        default: false
        }
    }
}
