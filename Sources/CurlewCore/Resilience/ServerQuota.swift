package import Foundation

/// A server's announcement of the requests that it will accept, from the fields of one response.
package struct ServerAdvice: Sendable, Equatable {
    /// The time for which no request is welcome.
    package var pause: Duration?
    /// The number of requests that are welcome within `reset`.
    package var remaining: Int?
    package var reset: Duration?

    /// The longest time for which a server is believed.
    package static let maximumReset = Duration.seconds(3600)

    /// Reads the fields. `nil` if they say nothing. `now` is the wall clock, for fields with a date.
    package init?(_ fields: HTTPHeaders, status: Int, now: Date) {
        if status == 429 || status == 503, let text = fields.value(for: "Retry-After") {
            pause = RetryAfter.delay(text, now: now).map(Self.bounded)
        }
        if let (remaining, reset) = Self.structured(fields) ?? Self.older(fields, now) {
            self.remaining = remaining
            self.reset = Self.bounded(reset)
        }
        if pause == nil, remaining == nil { return nil }
    }

    private static func bounded(_ time: Duration) -> Duration { min(max(time, .zero), maximumReset) }

    /// The items of a list, of which a server may send any number. Only the first 32 are read, and 4 KiB.
    private static func items(_ list: String) -> [Substring] {
        Array(list.prefix(4_096).split(separator: ",", maxSplits: 32).prefix(32))
    }

    /// `RateLimit: "default";r=50;t=30`, of several policies the one that is used up first. If `t` is missing, the
    /// window `w` of the policy of that name in `RateLimit-Policy` counts. An older form is
    /// `RateLimit: limit=100, remaining=50, reset=5`.
    private static func structured(_ fields: HTTPHeaders) -> (Int, Duration)? {
        guard let text = fields.value(for: "RateLimit") else { return nil }
        let flat = parameters(items(text).joined(separator: ";"))
        if let remaining = flat["remaining"], let reset = flat["reset"] { return (remaining, .seconds(reset)) }
        let policies = fields.value(for: "RateLimit-Policy").map(items) ?? []
        let found = items(text).compactMap { item -> (Int, Duration)? in
            let values = parameters(item)
            guard let remaining = values["r"] else { return nil }
            let name = name(of: item)
            let window = policies.first { Self.name(of: $0) == name }.flatMap { parameters($0)["w"] }
            return (values["t"] ?? window).map { (remaining, .seconds($0)) }
        }
        return found.min { $0.0 < $1.0 }
    }

    private static func name(of item: Substring) -> String {
        item.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    }

    /// The parameters of an item that are whole numbers, limited to nine digits.
    private static func parameters(_ item: some StringProtocol) -> [String: Int] {
        var found: [String: Int] = [:]
        for part in item.split(separator: ";") {
            let sides = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if sides.count == 2, let value = number(sides[1]) { found[sides[0].lowercased()] = value }
        }
        return found
    }

    private static func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return text.utf8.count > 9 ? 999_999_999 : Int(text)
    }

    /// `X-RateLimit-Remaining` and `X-RateLimit-Reset`. The reset is a number of seconds, or a time since 1970: GitHub
    /// sends a time, others send seconds. A number above ten years of seconds is a time.
    private static func older(_ fields: HTTPHeaders, _ now: Date) -> (Int, Duration)? {
        guard let remaining = fields.value(for: "X-RateLimit-Remaining").flatMap({ number($0) }) else { return nil }
        guard let text = fields.value(for: "X-RateLimit-Reset"), let reset = Double(text), reset >= 0
        else { return nil }
        let seconds = reset > 315_360_000 ? reset - now.timeIntervalSince1970 : reset
        return (remaining, .bounded(seconds: seconds))
    }
}

/// The requests that a server still accepts, as it has announced.
package struct ServerQuota: Sendable, Equatable {
    /// No request before this time.
    private var closedUntil: Duration?
    /// The number of requests that are accepted before `resetsAt`.
    private var remaining = 0
    private var resetsAt: Duration?

    package init() {}

    /// Returns the time at which the server accepts a request: `now`, or a later one.
    package func opens(at now: Duration) -> Duration {
        let closed = max(now, closedUntil ?? now)
        guard let resetsAt, resetsAt > now, remaining <= 0 else { return closed }
        return max(closed, resetsAt)
    }

    package mutating func admit(at now: Duration) {
        guard let resetsAt else { return }
        if resetsAt <= now { self.resetsAt = nil } else { remaining -= 1 }
    }

    /// Windows whose ends differ by at most this count as one: servers round to seconds, and responses take different
    /// times.
    private static let tolerance = Duration.seconds(2)

    /// Records the announcement of a response. Responses overtake each other, so within one window only a smaller
    /// number counts. A response with another end, as of a sliding window, replaces the known window. A longer pause
    /// replaces a shorter one.
    package mutating func learn(_ advice: ServerAdvice, at now: Duration) {
        if let pause = advice.pause { closedUntil = max(closedUntil ?? now, now + pause) }
        guard let told = advice.remaining, let reset = advice.reset else { return }
        let end = now + reset
        if let resetsAt, resetsAt > now, max(resetsAt, end) - min(resetsAt, end) <= Self.tolerance {
            remaining = min(remaining, told)
        } else {
            (remaining, resetsAt) = (told, end)
        }
    }

    package func isIdle(at now: Duration) -> Bool {
        (closedUntil ?? now) <= now && (resetsAt ?? now) <= now
    }
}
