package import Foundation

/// The age of a stored response and the time for which it stays fresh (RFC 9111, 4.2).
package struct Freshness: Sendable, Equatable {
    /// The age of the response when it was received (`corrected_initial_age`).
    package let initialAge: TimeInterval
    /// The age at which the response becomes stale.
    package let lifetime: TimeInterval
    /// The time after `lifetime` during which the response may be served while it is revalidated.
    package let staleWhileRevalidate: TimeInterval
    /// The time after `lifetime` during which the response may be served if the server fails.
    package let staleIfError: TimeInterval
    /// Whether the response must not be served stale, whatever other directives or the request allow.
    package let mustRevalidate: Bool
    /// Whether the response must be validated before each use.
    package let needsValidation: Bool
    package let isImmutable: Bool
    private let responseTime: Date

    /// Heuristic freshness (RFC 9111, 4.2.2): a response without an explicit lifetime stays fresh for a tenth of the
    /// time since `Last-Modified`.
    private static let heuristicFraction = 0.1
    /// The upper limit of heuristic freshness, and the lifetime of permanent statuses without `Last-Modified`.
    private static let longestHeuristic: TimeInterval = 86_400

    package init(_ response: StoredResponse, mode: CacheMode) {
        let fields = response.head.headers
        let control = CacheControl(fields)
        responseTime = response.responseTime
        initialAge = Self.initialAge(of: response)
        lifetime = Self.lifetime(of: response, control, mode)
        needsValidation = control.hasUnqualified("no-cache")
        let revalidatesShared = mode == .shared && (control.has("proxy-revalidate") || control.has("s-maxage"))
        mustRevalidate = needsValidation || control.has("must-revalidate") || revalidatesShared
        // Both directives concern stale responses, which `mustRevalidate` forbids.
        staleWhileRevalidate = mustRevalidate ? 0 : TimeInterval(control.seconds("stale-while-revalidate") ?? 0)
        staleIfError = mustRevalidate ? 0 : TimeInterval(control.seconds("stale-if-error") ?? 0)
        isImmutable = control.has("immutable")
    }

    private static func initialAge(of response: StoredResponse) -> TimeInterval {
        let date = date(response.head.headers.value(for: "Date"), response) ?? response.responseTime
        let apparent = max(0, response.responseTime.timeIntervalSince(date))
        let delay = max(0, response.responseTime.timeIntervalSince(response.requestTime))
        return max(apparent, age(in: response.head.headers) + delay)
    }

    /// The first member of the first `Age` line; an invalid value counts as 0 (RFC 9111, 5.1).
    private static func age(in fields: HTTPHeaders) -> TimeInterval {
        let first = fields.value(for: "Age")?.split(separator: ",", omittingEmptySubsequences: false).first
        return first.flatMap { DeltaSeconds.parse(String($0)) }.map(TimeInterval.init) ?? 0
    }

    private static func lifetime(
        of response: StoredResponse,
        _ control: CacheControl,
        _ mode: CacheMode
    ) -> TimeInterval {
        // An invalid directive makes the response stale; later rules must not apply.
        if mode == .shared, control.has("s-maxage") { return TimeInterval(control.seconds("s-maxage") ?? 0) }
        if control.has("max-age") { return TimeInterval(control.maxAge ?? 0) }
        let fields = response.head.headers
        let sent = date(fields.value(for: "Date"), response) ?? response.responseTime
        if let expires = fields.value(for: "Expires") {
            return max(0, date(expires, response)?.timeIntervalSince(sent) ?? 0)
        }
        let status = response.head.status
        guard Storability.isHeuristicallyCacheable(status) || control.has("public") else { return 0 }
        guard let modified = date(fields.value(for: "Last-Modified"), response) else {
            return HTTPStatus(status).isPermanent && !control.has("must-revalidate") ? longestHeuristic : 0
        }
        return min(max(0, sent.timeIntervalSince(modified)) * heuristicFraction, longestHeuristic)
    }

    /// Parses a date. Retries with standard capitalisation, because some servers write `AUG` or `gmt`.
    private static func date(_ text: String?, _ response: StoredResponse) -> Date? {
        guard let text else { return nil }
        return HTTPDate.date(from: text, now: response.responseTime)
            ?? HTTPDate.date(from: capitalised(text), now: response.responseTime)
    }

    private static func capitalised(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            ASCII.equalsIgnoringCase(String(word), "GMT")
                ? "GMT" : word.prefix(1).uppercased() + word.dropFirst().lowercased()
        }.joined(separator: " ")
    }

    // MARK: At a time

    /// The age in seconds (`current_age`).
    package func age(at now: Date) -> TimeInterval { initialAge + max(0, now.timeIntervalSince(responseTime)) }

    /// The time since the response became stale; negative while it is fresh.
    package func staleness(at now: Date) -> TimeInterval { age(at: now) - lifetime }

    /// Whether `now` is more than a second before the response was received, so that its age is unknown.
    package func isFromTheFuture(at now: Date) -> Bool { now.timeIntervalSince(responseTime) < -1 }

    /// Whether the response may be served without asking the server.
    package func isFresh(at now: Date) -> Bool {
        !needsValidation && staleness(at: now) < 0 && !isFromTheFuture(at: now)
    }

    /// Returns the freshness as dates, for the store.
    package func cacheLifetime(canBeValidated: Bool) -> CacheLifetime {
        let end = needsValidation ? 0 : lifetime - initialAge
        return CacheLifetime(
            freshUntil: responseTime.addingTimeInterval(end),
            usableUntil: responseTime.addingTimeInterval(end + max(staleWhileRevalidate, staleIfError)),
            canBeValidated: canBeValidated
        )
    }
}
