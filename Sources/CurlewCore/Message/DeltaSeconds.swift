package import Foundation

/// A number of seconds in a header (RFC 9111, 1.2.2): digits only. Numbers that are too large are reduced, not refused.
package enum DeltaSeconds {
    /// 2^31, the value that the RFC recommends for numbers that do not fit.
    package static let maximum: Int64 = 2_147_483_648

    package static func parse(_ text: String) -> Int64? {
        let bytes = ASCII.trimmingBlanks(Array(text.utf8)[...])
        guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isDigit) else { return nil }
        return min(ASCII.number(bytes) ?? maximum, maximum)
    }
}

/// The time after which a server wants to be asked again (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// Returns the delay that a Retry-After value of seconds or a date asks for, at most `maximum`. `nil` if the value
    /// is neither, or a date in the past.
    package static func delay(_ value: String, now: Date, maximum: Duration = .seconds(86_400)) -> Duration? {
        if let seconds = DeltaSeconds.parse(value) { return min(.seconds(seconds), maximum) }
        guard let date = HTTPDate.date(from: value, now: now) else { return nil }
        let interval = date.timeIntervalSince(now)
        guard interval >= 0 else { return nil }
        return min(.milliseconds(Int64(min(interval, Double(DeltaSeconds.maximum)) * 1000)), maximum)
    }
}
