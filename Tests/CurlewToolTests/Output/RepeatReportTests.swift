import CurlewTesting
import Testing

@testable import CurlewTool

@Suite("A histogram of latencies")
struct LatencyHistogramTests {
    /// Durations of every magnitude, from 0 to about 146 years.
    private func durations(seed: UInt64) -> [Duration] {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 1...400, using: &random)
        return (0..<count).map { _ in
            .nanoseconds(Int64.random(in: 0...(1 << Int64.random(in: 0...62, using: &random)), using: &random))
        }
    }

    private func histogram(_ durations: [Duration]) -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for duration in durations { histogram.record(duration) }
        return histogram
    }

    @Test("a percentile differs from the exact one by at most 1/256", arguments: 0..<100 as Range<UInt64>)
    func percentiles(seed: UInt64) {
        let durations = durations(seed: seed).sorted()
        let histogram = histogram(durations)
        for share in [0, 0.01, 0.25, 0.5, 0.9, 0.99, 1] {
            let rank = max(1, Int((share * Double(durations.count)).rounded(.up)))
            let exact = durations[rank - 1] / .nanoseconds(1)
            let found = histogram.percentile(share) / .nanoseconds(1)
            #expect(abs(found - exact) <= exact / 256, "\(share): \(exact), \(found)")
        }
        #expect(histogram.minimum == durations.first)
        #expect(histogram.maximum == durations.last)
        #expect(histogram.mean == durations.reduce(.zero, +) / durations.count)
    }

    @Test(
        "every duration is counted in exactly one row, whose end it does not exceed",
        arguments: 0..<50 as Range<UInt64>)
    func rows(seed: UInt64) {
        let durations = durations(seed: seed)
        let histogram = histogram(durations)
        for most in 1...12 {
            let rows = histogram.rows(atMost: most)
            #expect(rows.count <= most)
            #expect(rows.last?.end == durations.max())
            var count = 0
            for row in rows {
                count += row.count
                #expect(durations.count { $0 <= row.end } == count)
            }
        }
    }

    @Test("the histogram does not depend on the order of the durations", arguments: 0..<20 as Range<UInt64>)
    func order(seed: UInt64) {
        let durations = durations(seed: seed)
        #expect(histogram(durations) == histogram(durations.reversed()))
    }

    @Test func histogramHandlesExtremeDurations() {
        let empty = LatencyHistogram()
        #expect(empty.percentile(0.5) == .zero && empty.mean == .zero && empty.rows(atMost: 10).isEmpty)
        let negative = histogram([.seconds(-1)])
        #expect(negative.minimum == .zero && negative.maximum == .zero)
        // Longer than the range of the buckets.
        let long = Duration.seconds(Int64.max / 2)
        let extreme = histogram([.zero, long])
        #expect(extreme.maximum == long && extreme.percentile(0) == .zero && extreme.count == 2)
        // This many rows are enough for one row for each bucket.
        #expect(extreme.rows(atMost: 1_000_000).count == LatencyHistogram.mostBuckets)
        let same = histogram(Array(repeating: .milliseconds(7), count: 1000))
        #expect(same.percentile(0.5) == .milliseconds(7) && same.percentile(0.99) == .milliseconds(7))
        #expect(same.rows(atMost: 10) == [LatencyHistogram.Row(end: .milliseconds(7), count: 1000)])
    }
}

@Suite("The summary of --repeat")
struct RepeatReportTests {
    private func text(_ summary: RepeatSummary, elapsed: Duration) -> String {
        RepeatReport(palette: Palette(isColored: false), hasUnicode: false).text(summary, elapsed: elapsed)
    }

    @Test func summaryShowsEverything() {
        var summary = RepeatSummary(planned: 10)
        for _ in 0..<4 {
            summary.record(.complete(status: 200, latency: .milliseconds(2), bytes: 256))
        }
        summary.record(.complete(status: 503, latency: .milliseconds(2), bytes: 0))
        summary.record(.complete(status: 500, latency: .milliseconds(2), bytes: 0))
        summary.record(.complete(status: 302, latency: .milliseconds(2), bytes: 0, isElsewhere: true))
        summary.record(.failed(code: "idleTimedOut"))
        summary.record(.failed(code: "connectFailed"))
        summary.record(.failed(code: "connectFailed"))
        #expect(
            text(summary, elapsed: .seconds(4)) == """
                Requests: 10
                Duration: 4.00 s
                Rate: 2.5/s
                Received: 1.0 KiB, 256 B/s
                Status 2xx: 4 (200: 4)
                Status 3xx: 1 (302: 1)
                Status 5xx: 2 (500: 1, 503: 1)
                Not followed: 1 to hosts that are not on the command line
                Failed: 3 (connectFailed: 2, idleTimedOut: 1)
                Latency min: 2.0 ms
                Latency mean: 2.0 ms
                Latency p50: 2.0 ms
                Latency p90: 2.0 ms
                Latency p99: 2.0 ms
                Latency max: 2.0 ms

                  up to   2.0 ms  7  ########################################

                """)
    }

    @Test("the summary of an interrupted run without responses has the planned number and no latencies")
    func showsLittle() {
        #expect(
            text(RepeatSummary(planned: 7), elapsed: .zero) == """
                Requests: 0 of 7
                Duration: 0 µs
                Rate: 0.0/s
                Received: 0 B, 0 B/s

                """)
    }

    @Test("the summary of a run without --repeat has no planned number, and shows how many requests were cut off")
    func showsCutOffs() {
        var summary = RepeatSummary(planned: nil)
        summary.record(.failed(code: "connectFailed"))
        for _ in 0..<3 { summary.recordCutOff() }
        #expect(
            text(summary, elapsed: .seconds(1)) == """
                Requests: 1
                Duration: 1.00 s
                Rate: 1.0/s
                Received: 0 B, 0 B/s
                Failed: 1 (connectFailed: 1)
                Cut off: 3

                """)
    }

    @Test func writesJSON() {
        var summary = RepeatSummary(planned: 9)
        for _ in 0..<2 { summary.record(.complete(status: 200, latency: .milliseconds(2), bytes: 256)) }
        summary.record(.complete(status: 302, latency: .seconds(1), bytes: 0, isElsewhere: true))
        summary.record(.failed(code: "connectFailed"))
        summary.recordCutOff()
        // The middle of the bucket of 2 ms, 2,000,000 ns, which is between 1,998,848 and 2,007,039 ns.
        #expect(
            JSONWriter.compact(summary.json(elapsed: .seconds(4))) == #"""
                {"requests": 4, "planned": 9, "cutOff": 1, "seconds": 4.000000000, "perSecond": 1.000, "bytes": 512, \#
                "statuses": {"200": 2, "302": 1}, "failures": {"connectFailed": 1}, "redirectsElsewhere": 1, \#
                "latency": {"min": 0.002000000, "mean": 0.334666667, "p50": 0.002002943, "p90": 1.000000000, \#
                "p99": 1.000000000, "max": 1.000000000}, \#
                "histogram": [{"upTo": 0.002007039, "count": 2}, {"upTo": 1.000000000, "count": 1}]}
                """#)
        let empty = RepeatSummary(planned: nil).json(elapsed: .zero)
        #expect(
            JSONWriter.compact(empty) == #"""
                {"requests": 0, "cutOff": 0, "seconds": 0.000000000, "perSecond": 0.000, "bytes": 0, "statuses": {}, \#
                "failures": {}, "redirectsElsewhere": 0, "histogram": []}
                """#)
    }

    @Test("the largest row has the longest bar, and every row with responses has a bar")
    func drawsBars() {
        var summary = RepeatSummary(planned: 1001)
        for _ in 0..<1000 { summary.record(.complete(status: 200, latency: .milliseconds(1), bytes: 0)) }
        summary.record(.complete(status: 200, latency: .seconds(1), bytes: 0))
        let bars = text(summary, elapsed: .seconds(1)).split(separator: "\n").filter { $0.hasPrefix("  up to") }
        #expect(bars.count == 10)
        #expect(bars.first?.hasSuffix("  1000  " + String(repeating: "#", count: 40)) == true)
        #expect(bars.last?.hasSuffix("up to   1.00 s     1  #") == true)
        #expect(bars.dropFirst().dropLast().allSatisfy { $0.hasSuffix("     0") })
    }

    @Test func followsRedirectsOnlyToNamedHosts() {
        let hosts = NamedHosts(
            follows: true,
            urls: ["http://Example.org/a", "http://localhost:8080/", "http://[::1]/", "http://[::2]:81/"])
        for url in [
            "http://example.org/b", "https://example.org/b", "http://example.org:80/", "https://localhost:8080",
            "http://[::1]:80/x", "https://[::1]/", "http://[::2]:81/x",
        ] {
            #expect(hosts.allows(url), "\(url)")
        }
        for url in [
            "http://www.example.org/", "http://example.org:8080/", "http://localhost/", "http://a@b/example.org",
            "http://[::1]:81/", "http://[::2]/", "http://[::3]/", "http://example.org@b.test/",
        ] {
            #expect(!hosts.allows(url), "\(url)")
        }
    }
}
