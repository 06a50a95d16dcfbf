internal import Foundation

/// The results of a repeated run (`--repeat`), counted while they arrive.
struct RepeatSummary: Equatable, Sendable {
    /// The result of one request.
    enum Result: Equatable, Sendable {
        /// A complete response with its status. `isElsewhere` means a redirect to a host that the user has not named.
        case complete(status: Int, latency: Duration, bytes: Int64, isElsewhere: Bool = false)
        /// No complete response, with the name of the error's code.
        case failed(code: String)
    }

    /// The number of requests that the run was to send.
    let planned: Int
    private(set) var latencies = LatencyHistogram()
    private(set) var bytes: Int64 = 0
    /// The number of responses with each status.
    private(set) var statuses: [Int: Int] = [:]
    /// The number of failures with each error code.
    private(set) var failures: [String: Int] = [:]
    private(set) var redirectsElsewhere = 0

    init(planned: Int) { self.planned = planned }

    /// The number of results.
    var count: Int { latencies.count + failures.values.reduce(0, +) }

    mutating func record(_ result: Result) {
        switch result {
        case .complete(let status, let latency, let bytes, let isElsewhere):
            latencies.record(latency)
            self.bytes += bytes
            statuses[status, default: 0] += 1
            if isElsewhere { redirectsElsewhere += 1 }
        case .failed(let code): failures[code, default: 0] += 1
        }
    }
}

/// The text of a `RepeatSummary`: a line for each number, and a histogram of the latencies.
struct RepeatReport: Sendable {
    let palette: Palette
    let hasUnicode: Bool

    private static let mostRows = 10
    private static let barWidth = 40

    func text(_ summary: RepeatSummary, elapsed: Duration) -> String {
        let lines = rows(summary, elapsed: elapsed).map { row in
            "\(palette(.fieldName, row.name)): \(palette(.jsonNumber, row.value))\n"
        }
        let chart = chart(summary.latencies)
        return lines.joined() + (chart.isEmpty ? "" : "\n" + chart)
    }

    private func rows(_ summary: RepeatSummary, elapsed: Duration) -> [(name: String, value: String)] {
        let seconds = elapsed / .seconds(1)
        let perSecond = seconds > 0 ? Double(summary.count) / seconds : 0
        var rows = [
            (
                name: "Requests",
                value: summary.count < summary.planned
                    ? "\(summary.count) of \(summary.planned)" : String(summary.count)
            ),
            ("Duration", Amount.time(seconds)),
            ("Rate", Amount.fixed(perSecond, digits: 1) + "/s"),
            (
                "Received",
                Amount.bytes(summary.bytes) + ", " + Amount.rate(seconds > 0 ? Double(summary.bytes) / seconds : 0)
            ),
        ]
        for (hundreds, group) in Dictionary(grouping: summary.statuses, by: { $0.key / 100 }).sorted(by: {
            $0.key < $1.key
        }) {
            let parts = group.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            rows.append(
                ("Status \(hundreds)xx", "\(group.reduce(0) { $0 + $1.value }) (\(parts.joined(separator: ", ")))"))
        }
        if summary.redirectsElsewhere > 0 {
            rows.append(("Not followed", "\(summary.redirectsElsewhere) to hosts that are not on the command line"))
        }
        if !summary.failures.isEmpty {
            let parts = summary.failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            let total = parts.reduce(0) { $0 + $1.value }
            rows.append(("Failed", "\(total) (\(parts.map { "\($0.key): \($0.value)" }.joined(separator: ", ")))"))
        }
        return rows + latencyRows(summary.latencies)
    }

    private func latencyRows(_ latencies: LatencyHistogram) -> [(name: String, value: String)] {
        guard latencies.count > 0 else { return [] }
        let values = [
            ("min", latencies.minimum), ("mean", latencies.mean), ("p50", latencies.percentile(0.5)),
            ("p90", latencies.percentile(0.9)), ("p99", latencies.percentile(0.99)), ("max", latencies.maximum),
        ]
        return values.map { ("Latency \($0)", Amount.time($1 / .seconds(1))) }
    }

    private func chart(_ latencies: LatencyHistogram) -> String {
        let rows = latencies.rows(atMost: Self.mostRows)
        let most = rows.map(\.count).max() ?? 0
        let digits = String(most).count
        return rows.map { row in
            // A row with any durations has a bar of at least one column.
            let exact = Double(row.count) / Double(most) * Double(Self.barWidth)
            let length = row.count == 0 ? 0 : max(1, Int(exact.rounded()))
            let bar = String(repeating: hasUnicode ? "█" : "#", count: length)
            let end = Columns.padded(Amount.time(row.end / .seconds(1)), to: 8, atEnd: false)
            let count = Columns.padded(String(row.count), to: digits, atEnd: false)
            return "  up to \(end)  \(count)" + (bar.isEmpty ? "" : "  " + palette(.barDone, bar)) + "\n"
        }.joined()
    }
}
