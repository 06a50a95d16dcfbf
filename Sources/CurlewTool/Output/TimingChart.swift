internal import Curlew

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
            lines.append("  \(padded(phase.name, 8)) \(bar) \(Amount.time(phase.duration))")
        }
        lines.append("  \(padded("total", 8)) \(String(repeating: " ", count: barWidth)) \(Amount.time(total))")
        if let cache = metrics.cacheStatus { lines.append("  \(cache)") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
