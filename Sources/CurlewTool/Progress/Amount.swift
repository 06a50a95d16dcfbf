/// Formats bytes, rates and times in a few columns.
enum Amount {
    /// Formats a number of bytes: `999 B`, `1.5 KiB`, `23.4 MiB`.
    static func bytes(_ count: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        guard count >= 1024 else { return "\(max(0, count)) B" }
        var value = Double(count) / 1024
        var unit = 0
        // 1023.95 would be rounded to 1024.0.
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(fixed(value, digits: 1)) \(units[unit])"
    }

    static func rate(_ bytesPerSecond: Double) -> String { bytes(Int64(min(max(0, bytesPerSecond), 9e18))) + "/s" }

    /// Formats a remaining time: `0:07`, `12:34`, `1:02:03`. From 100 hours on, shows no number.
    static func clock(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 360_000 else { return "-:--" }
        let total = Int(seconds.rounded(.up))
        let (hours, minutes, rest) = (total / 3600, total / 60 % 60, total % 60)
        return hours > 0 ? "\(hours):\(padded(minutes)):\(padded(rest))" : "\(minutes):\(padded(rest))"
    }

    /// Formats a duration: `870 µs`, `12.3 ms`, `1.23 s`.
    static func time(_ seconds: Double) -> String {
        if seconds < 0.001 { return "\(Int((max(0, seconds) * 1e6).rounded())) µs" }
        if seconds < 0.9995 { return fixed(seconds * 1000, digits: seconds < 0.1 ? 1 : 0) + " ms" }
        return fixed(seconds, digits: 2) + " s"
    }

    static func fixed(_ value: Double, digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        // A file or a server may name a value beyond the range of `Int64`.
        let scaled = Int64(min((abs(value) * scale).rounded(), 9e18))
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(scaled)" }
        let fraction = String(scaled % Int64(scale))
        return "\(sign)\(scaled / Int64(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
