internal import Curlew

/// The metadata that `--print=m` shows.
enum ExchangeFacts {
    static func rows(
        _ head: ResponseHead?, _ metrics: TransferMetrics?, elapsed: Double
    ) -> [(name: String, value: String)] {
        var rows: [(name: String, value: String)] = []
        if let head { rows.append(("Status", String(head.status))) }
        rows.append(("Elapsed time", Amount.time(elapsed)))
        guard let metrics else { return rows }
        if let cache = metrics.cacheStatus { rows.append(("Cache", cache.description)) }
        if let version = metrics.httpVersion { rows.append(("Protocol", version.rawValue)) }
        if let address = metrics.remoteAddress { rows.append(("Remote address", address)) }
        if let version = metrics.tlsVersion {
            rows.append(("TLS", version + (metrics.tlsCipher.map { ", \($0)" } ?? "")))
        }
        rows.append(("Sent", Amount.bytes(metrics.bytesSent)))
        rows.append(("Received", Amount.bytes(metrics.bytesReceived)))
        if !metrics.redirects.isEmpty { rows.append(("Redirects", String(metrics.redirects.count))) }
        if metrics.attempt > 0 { rows.append(("Attempts", String(metrics.attempt + 1))) }
        return rows
    }
}

/// Draws the phases of an exchange as bars on one time line.
struct TimingChart: Sendable {
    let palette: Palette
    let hasUnicode: Bool

    func render(_ metrics: TransferMetrics, width: Int) -> String {
        let phases = metrics.phases
        let total = max(metrics.duration, phases.last?.end ?? 0)
        let barWidth = max(10, min(60, width - 24))
        let (full, rest) = hasUnicode ? ("█", "·") : ("#", ".")
        let scale = total > 0 ? Double(barWidth) / total : 0
        var lines: [String] = []
        for phase in phases {
            let start = min(barWidth - 1, Int(phase.start * scale))
            // Even the shortest phase gets one column.
            let length = max(1, min(barWidth - start, Int((phase.duration * scale).rounded())))
            let bar =
                palette(.barRest, String(repeating: rest, count: start))
                + palette(.barDone, String(repeating: full, count: length))
                + palette(.barRest, String(repeating: rest, count: barWidth - start - length))
            lines.append("  \(Columns.padded(phase.name, to: 8)) \(bar) \(Amount.time(phase.duration))")
        }
        lines.append("  \(Columns.padded("total", to: 9 + barWidth)) \(Amount.time(total))")
        if let cache = metrics.cacheStatus { lines.append("  \(cache)") }
        return lines.joined(separator: "\n") + "\n"
    }
}
