package import Foundation

/// A number of seconds in a header (RFC 9111, 1.2.2): digits only; what is too large is cut, not refused.
package enum DeltaSeconds {
    /// 2^31, the value that the RFC names for numbers that do not fit.
    package static let maximum: Int64 = 2_147_483_648

    package static func parse(_ text: String) -> Int64? {
        let bytes = ASCII.trimmingBlanks(Array(text.utf8)[...])
        guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isDigit) else { return nil }
        return min(ASCII.number(bytes) ?? maximum, maximum)
    }
}

/// When a server wants to be asked again (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// The delay that `value` asks for, seconds or a date, at most `maximum`. nil where it is neither, or a
    /// date that has passed.
    package static func delay(_ value: String, now: Date, maximum: Duration = .seconds(86_400)) -> Duration? {
        if let seconds = DeltaSeconds.parse(value) { return min(.seconds(seconds), maximum) }
        guard let date = HTTPDate.date(from: value, now: now) else { return nil }
        let interval = date.timeIntervalSince(now)
        guard interval >= 0 else { return nil }
        return min(.milliseconds(Int64(min(interval, Double(DeltaSeconds.maximum)) * 1000)), maximum)
    }
}
