internal import CurlewCore

/// The value of `--rate`: a number of requests in a time.
///
/// The grammar is curl's: `N/U` or `N/KU`, with the units `s`, `m`, `h` and `d`. `N` alone means requests per hour for
/// curl, and requests per second for most tools that measure servers, so it is refused.
struct RequestRate: Equatable, Sendable {
    let count: Int
    let period: Duration

    /// The number of requests that may be sent at once: those of 10 ms, and at least one. A timer that fires late would
    /// otherwise lower the rate, because a request that is sent late delays all later ones.
    var burst: Int { max(1, Int(Duration.milliseconds(10) * count / period)) }

    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    private static let longestPeriod = 365 * 86_400

    init(parsing text: String, for flag: String) throws(UsageError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let count = Self.number(parts[0], upTo: 1_000_000_000), parts.count <= 2 else {
            throw Self.unreadable(text, flag)
        }
        guard parts.count == 2 else {
            throw UsageError("\(flag): '\(text)' has no unit", hint: "Write \(text)/s, or /m, /h, /d.")
        }
        guard let unit = parts[1].last.flatMap({ Self.units[$0] }) else { throw Self.unreadable(text, flag) }
        let factor = parts[1].dropLast()
        guard let units = factor.isEmpty ? 1 : Self.number(factor, upTo: Self.longestPeriod / unit) else {
            throw Self.unreadable(text, flag)
        }
        self.count = count
        period = .seconds(units * unit)
    }

    /// Parses digits. `nil` for 0 and for more than `most`.
    private static func number(_ text: Substring, upTo most: Int) -> Int? {
        guard text.utf8.allSatisfy(ASCII.isDigit), let value = Int(text), 1...most ~= value else { return nil }
        return value
    }

    private static func unreadable(_ text: String, _ flag: String) -> UsageError {
        UsageError(
            "\(flag): '\(text)' is not a number of requests per time",
            hint: "Write for instance 50/s, 10/m, 100/h, 500/d, or 3/10s for three in ten seconds.")
    }
}
