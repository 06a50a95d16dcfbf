internal import Foundation

/// The results of a repeated run (`--repeat`, `--duration`), counted while they arrive.
struct RepeatSummary: Equatable, Sendable {
    /// The result of one request.
    enum Result: Equatable, Sendable {
        /// A complete response with its status. `isElsewhere` means a redirect to a host that the user has not named.
        case complete(status: Int, latency: Duration, bytes: Int64, isElsewhere: Bool = false)
        /// No complete response, with the name of the error's code.
        case failed(code: String)
    }

    /// The number of requests that the run was to send. `nil` if only the time limits it.
    let planned: Int?
    /// The number of requests that were under way when the run ended. They have no result.
    private(set) var cutOff = 0
    private(set) var latencies = LatencyHistogram()
    private(set) var bytes: Int64 = 0
    /// The number of responses with each status.
    private(set) var statuses: [Int: Int] = [:]
    /// The number of failures with each error code.
    private(set) var failures: [String: Int] = [:]
    private(set) var redirectsElsewhere = 0

    init(planned: Int?) { self.planned = planned }

    /// The number of results.
    var count: Int { latencies.count + failures.values.reduce(0, +) }

    mutating func recordCutOff() { cutOff += 1 }

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
                value: summary.planned.flatMap { summary.count < $0 ? "\(summary.count) of \($0)" : nil }
                    ?? String(summary.count)
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
        if summary.cutOff > 0 { rows.append(("Cut off", String(summary.cutOff))) }
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

extension RepeatSummary {
    /// The summary for programs. Times are in seconds. Without responses there is no latency.
    func json(elapsed: Duration) -> JSONValue {
        let seconds = elapsed / .seconds(1)
        var summary: JSONObject = ["requests": Self.number(count)]
        if let planned { summary["planned"] = Self.number(planned) }
        summary["cutOff"] = Self.number(cutOff)
        summary["seconds"] = Self.seconds(elapsed)
        summary["perSecond"] = .number(Amount.fixed(seconds > 0 ? Double(count) / seconds : 0, digits: 3))
        summary["bytes"] = .number(String(bytes))
        summary["statuses"] = Self.object(statuses.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) })
        summary["failures"] = Self.object(failures.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        summary["redirectsElsewhere"] = Self.number(redirectsElsewhere)
        if latencies.count > 0 {
            summary["latency"] = .object([
                "min": Self.seconds(latencies.minimum), "mean": Self.seconds(latencies.mean),
                "p50": Self.seconds(latencies.percentile(0.5)), "p90": Self.seconds(latencies.percentile(0.9)),
                "p99": Self.seconds(latencies.percentile(0.99)), "max": Self.seconds(latencies.maximum),
            ])
        }
        let rows = latencies.rows(atMost: LatencyHistogram.mostBuckets).filter { $0.count > 0 }
        summary["histogram"] = .array(
            rows.map { .object(["upTo": Self.seconds($0.end), "count": Self.number($0.count)]) })
        return .object(summary)
    }

    private static func number(_ number: Int) -> JSONValue { .number(String(number)) }

    private static func seconds(_ time: Duration) -> JSONValue { .number(Amount.fixed(time / .seconds(1), digits: 9)) }

    private static func object(_ counts: [(name: String, count: Int)]) -> JSONValue {
        var object = JSONObject()
        for (name, count) in counts { object[name] = number(count) }
        return .object(object)
    }
}
