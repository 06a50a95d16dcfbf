package import Foundation

/// Decides whether a response may be stored (RFC 9111, 3).
package enum Storability {
    /// Whether responses with this status may have heuristic freshness (RFC 9110, 15.1). A 206 is excluded, because
    /// parts are not combined.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether a response with this status concerns one exchange only. A 206 is excluded because parts are not
    /// combined, a 304 because it only updates another response, 401 and 407 because they challenge one client, and the
    /// others because RFC 6585 forbids storing them.
    private static func isForOneExchange(_ status: Int) -> Bool {
        switch status {
        case 206, 304, 401, 407, 428, 429, 431, 511: true
        default: false
        }
    }

    package static func isStorable(_ head: ResponseHead, for request: CacheRequest, mode: CacheMode) -> Bool {
        isStorable(head, ResponseCacheFields(head.headers), for: request, mode: mode)
    }

    /// Whether the response may be stored. `fields` are those of `head`.
    package static func isStorable(
        _ head: ResponseHead,
        _ fields: ResponseCacheFields,
        for request: CacheRequest,
        mode: CacheMode
    ) -> Bool {
        request.method == .get && mayBeKept(head, fields, for: request, mode: mode)
    }

    /// Whether a stored response may stay after a response to this request has updated it. Unlike `isStorable` this
    /// applies to `HEAD` as well as to `GET`.
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
            // Another status may concern the range alone, as a 416 does.
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
            // Only these directives allow a shared cache to store a response to a request with `Authorization`
            // (RFC 9111, 3.5).
            let mayBeShared =
                control.permits("public") || control.permits("must-revalidate")
                || (control.permits("s-maxage") && control.seconds("s-maxage") != nil)
            if request.hasCredentials, !mayBeShared { return false }
        }
        guard Variants.fields(of: head.headers) != nil else { return false }
        return isWorthwhile(head, control, mode)
    }

    /// Whether the response has a lifetime, permits storing, or can be validated.
    private static func isWorthwhile(_ head: ResponseHead, _ control: CacheControl, _ mode: CacheMode) -> Bool {
        if (500..<600).contains(head.status) { return isFresh(failure: head, mode) }
        let fields = head.headers
        if control.has("max-age") || control.has("public") || fields.contains(name: "Expires") { return true }
        if mode == .shared ? control.has("s-maxage") : control.has("private") { return true }
        guard isHeuristicallyCacheable(head.status) else { return false }
        return !control.isEmpty || HTTPStatus(head.status).isPermanent || Validators(fields).areUsable
    }

    /// A failure replaces a good response, so it must be usable without validation.
    private static func isFresh(failure head: ResponseHead, _ mode: CacheMode) -> Bool {
        // The time of receipt is unknown here. It matters only without a `Date`, and then `Expires` counts as past.
        let unknown = Date.distantFuture
        let response = StoredResponse(head: head, requestTime: unknown, responseTime: unknown)
        let freshness = Freshness(response, mode: mode)
        return !freshness.needsValidation && freshness.lifetime > 0
    }

    /// Fields that concern one connection or one exchange and are not stored (RFC 9111, 3.1).
    private static let transient: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        // Cookies are for one exchange and must not be repeated to the next. The cookie store has them already.
        "set-cookie",
    ]

    /// Returns the head to store: without the fields of one exchange, and without fields that may be used only after
    /// validation (`no-cache="…"`) or by one user (`private="…"`).
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

/// The fields of a response that concern a cache, found in one pass over the names.
package struct ResponseCacheFields: Sendable {
    /// Whether any field gives a lifetime or a validator.
    package private(set) var sayHowToStore = false
    /// Whether there is `Clear-Site-Data`.
    package private(set) var mayClear = false

    package init(_ headers: HTTPHeaders) {
        headers.forEachName { name in
            switch name.utf8.count {
            case 4: sayHowToStore = sayHowToStore || ASCII.equalsIgnoringCase(name, "ETag")
            case 7: sayHowToStore = sayHowToStore || ASCII.equalsIgnoringCase(name, "Expires")
            case 13:
                sayHowToStore =
                    sayHowToStore || ASCII.equalsIgnoringCase(name, "Cache-Control")
                    || ASCII.equalsIgnoringCase(name, "Last-Modified")
            case 15: mayClear = mayClear || ASCII.equalsIgnoringCase(name, "Clear-Site-Data")
            default: break
            }
        }
    }
}

extension HTTPStatus {
    /// Whether the cache implements the caching rules of this status, for `must-understand`.
    fileprivate var isUnderstood: Bool { !reasonPhrase.isEmpty && rawValue != 206 && rawValue != 304 }

    /// Whether the status says that the response is permanent.
    var isPermanent: Bool {
        switch rawValue {
        case 300, 301, 308, 410: true
        default: false
        }
    }
}

/// The stored responses that a response invalidates (RFC 9111, 4.4, and `Clear-Site-Data`).
package enum Invalidation: Sendable, Hashable {
    case none
    /// All entries of these URLs, in the form of `CacheKey.url`.
    case urls([String])
    /// All entries of the origin, as requested by the server.
    case origin(String)

    package init(method: HTTPMethod, url: URL, head: ResponseHead) {
        if Self.clearsCache(head.headers), url.scheme?.lowercased() == "https" {
            self = .origin(CacheKey(url: url).origin)
            return
        }
        guard !method.isSafe, (200..<400).contains(head.status) else {
            self = .none
            return
        }
        var urls = [CacheKey.text(of: url)]
        for name in ["Location", "Content-Location"] {
            guard let value = head.headers.value(for: name), let other = RedirectLocation.resolve(value, against: url),
                // A response must not invalidate entries of another origin.
                RedirectLocation.isSameOrigin(url, other)
            else { continue }
            let text = CacheKey.text(of: other)
            if !urls.contains(text) { urls.append(text) }
        }
        self = .urls(urls)
    }

    private static func clearsCache(_ headers: HTTPHeaders) -> Bool {
        guard let value = headers.combinedValue(for: "Clear-Site-Data") else { return false }
        return value.split(separator: ",").contains {
            let type = ASCII.trimmingBlanks(String($0))
            return type == "\"cache\"" || type == "\"*\""
        }
    }
}
