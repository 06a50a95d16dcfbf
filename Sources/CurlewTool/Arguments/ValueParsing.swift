/// Parses option values: times, byte counts and numbers.
enum ValueParsing {
    /// Parses a time: `5`, `2.5`, `500ms`, `2m`, `1h`. Returns `nil` for 0, which most options read as no limit.
    static func duration(_ text: String, for flag: String) throws(UsageError) -> Duration? {
        let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600)]
        let unit = units.first { text.hasSuffix($0.suffix) }
        let number = unit.map { String(text.dropLast($0.suffix.count)) } ?? text
        guard let amount = plainNumber(number) else {
            throw UsageError("\(flag): '\(text)' is not a time", hint: "Write seconds, or for instance 500ms or 2m.")
        }
        let seconds = amount * (unit?.seconds ?? 1)
        guard seconds < 1e9 else { throw UsageError("\(flag): '\(text)' is too long") }
        return seconds == 0 ? nil : .milliseconds(max(1, Int64((seconds * 1000).rounded())))
    }

    /// Parses a number of bytes: `4096`, `100k`, `1.5M`, `2MiB`. Units are powers of 1024, as in curl.
    static func bytes(_ text: String, for flag: String) throws(UsageError) -> Int {
        var number = text.lowercased()
        for ending in ["/s", "ib", "b"] where number.hasSuffix(ending) { number.removeLast(ending.count) }
        var factor = 1.0
        if let last = number.last, let power = ["k", "m", "g", "t"].firstIndex(of: last) {
            for _ in 0...power { factor *= 1024 }
            number.removeLast()
        }
        guard let amount = plainNumber(number), amount * factor >= 1, amount * factor < 1e18 else {
            throw UsageError(
                "\(flag): '\(text)' is not a number of bytes", hint: "Write for instance 4096, 100k or 1.5M.")
        }
        return Int(amount * factor)
    }

    static func count(_ text: String, for flag: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw UsageError("\(flag): '\(text)' is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Parses digits with at most one point. Refuses signs, exponents and `inf`, which `Double` would accept.
    private static func plainNumber(_ text: String) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }) else { return nil }
        return Double(text)
    }
}
